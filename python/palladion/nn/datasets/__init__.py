"""Inputs and labels, from files or from arrays and tables."""
