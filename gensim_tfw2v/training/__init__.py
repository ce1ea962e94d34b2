"""One call of `train`: its programs, epochs, position and checkpoints."""
