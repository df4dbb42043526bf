"""The integer network's answers compared with the float model's, and improved."""
