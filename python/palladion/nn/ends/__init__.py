"""The computations of a client: a network's ends in the model's own shapes and units."""
