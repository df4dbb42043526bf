"""Units of CROSS, which adds them to a TPU (section 6.4)."""
