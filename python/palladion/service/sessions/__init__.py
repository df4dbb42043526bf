"""Sessions of two parties: their budgets, and a process for each."""
