"""Helpers below everything else: files, text, memory, records, pictures."""
