"""The client of a service: :func:`palladion.connect`."""
