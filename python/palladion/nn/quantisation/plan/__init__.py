"""From a float graph to planned layers: one linear form and one function each, in real numbers."""
