"""The models of a service: programs in a folder."""
