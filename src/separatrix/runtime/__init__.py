"""How work is cut up: blocks within a memory budget, threads, and what happens between chunks."""
