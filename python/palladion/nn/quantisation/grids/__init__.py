"""Exact layers: every value lies on a grid of the model's own."""
