"""Blobs: keys, queries, answers, checkpoints and programs, by name, in a folder or in S3."""
