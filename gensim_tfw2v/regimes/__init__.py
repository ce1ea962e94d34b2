"""Who trains which work unit when, and when updates meet."""
