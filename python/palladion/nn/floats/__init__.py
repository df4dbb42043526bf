"""Networks in floating point: the graph of a model, and its functions."""
