"""What a client computes: a network's ends in the model's own shapes and units."""
