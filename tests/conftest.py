"""For all tests."""

import signal

# Shells start background jobs with SIGINT ignored, and children inherit that: Ctrl-C could not be
# tested there.
signal.signal(signal.SIGINT, signal.default_int_handler)
