"""The quality of a model: scores of its answers, and reports about its layers."""
