"""The state of a service: its database."""
