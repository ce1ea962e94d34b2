"""What is refused before training begins, and what to do instead."""
