"""Units of Athena (MICRO 2025, section 4.2)."""
