"""Workers: they run jobs, each in a process of its own."""
