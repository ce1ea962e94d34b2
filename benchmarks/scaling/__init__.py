"""Study of the speed by number of workers, on real and on simulated clusters."""
