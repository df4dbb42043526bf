"""Units, a folder for each paper; the contract of all of them is in :mod:`.unit`."""
