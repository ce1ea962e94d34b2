"""Scaling of training with the number of workers, on real and on simulated clusters."""
