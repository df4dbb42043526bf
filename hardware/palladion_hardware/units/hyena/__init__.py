"""Units of Hyena (S&P 2024, section 6.3)."""
