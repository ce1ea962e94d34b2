"""Child processes, threads and TCP connections of the process, and guards against its hazards."""
