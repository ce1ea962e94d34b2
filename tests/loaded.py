"""Time limits on a busy machine."""

import os


def stretched(seconds):
    """Return `seconds`, multiplied by the number of threads per core if the machine is busy."""
    # doubled, because the load is a mean over a minute and lags behind
    return seconds * max(1.0, 2.0 * os.getloadavg()[0] / (os.cpu_count() or 1))
