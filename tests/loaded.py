"""Limits of time where others use the cores, too."""

import os


def stretched(seconds):
    """So many seconds, or as many times more as there are threads that want a core."""
    # a mean over a minute lags behind what has just begun
    return seconds * max(1.0, 2.0 * os.getloadavg()[0] / (os.cpu_count() or 1))
