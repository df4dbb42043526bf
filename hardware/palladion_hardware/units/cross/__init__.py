"""Units of CROSS (section 6.4)."""
