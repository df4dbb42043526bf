"""The front: answers requests over HTTP, and computes nothing."""
