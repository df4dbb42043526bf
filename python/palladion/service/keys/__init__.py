"""Evaluation keys of clients: uploads in parts, and what is stored."""
