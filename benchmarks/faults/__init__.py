"""What becomes of a training when processes, links and disks fail."""
