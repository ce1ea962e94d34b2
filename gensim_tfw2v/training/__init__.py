"""One call of `train`: its plan, epochs, position and checkpoints."""
