"""Jobs: their states, the queue in the database, and what time takes away."""
