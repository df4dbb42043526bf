"""Units of Hyena (SP 2024, section 6)."""
