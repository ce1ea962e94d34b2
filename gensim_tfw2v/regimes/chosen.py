"""From a regime's options to the regime."""

from gensim_tfw2v.regimes.asynchronous import AsynchronousRegime
from gensim_tfw2v.regimes.options import Asynchronous, RegimeOptions, Synchronous
from gensim_tfw2v.regimes.served import ServedRegime, Setup
from gensim_tfw2v.regimes.synchronous import SynchronousRegime
from gensim_tfw2v.regimes.workers import Workers


def make_regime(options: RegimeOptions, setup: Setup, workers: Workers) -> ServedRegime:
    """Make the regime that is asked for.

    Parameters
    ----------
    options : RegimeOptions
    setup : Setup
    workers : Workers

    Raises
    ------
    ClusterLost
        If a task is gone.
    """
    if isinstance(options, Asynchronous):
        return AsynchronousRegime(setup, workers)
    if isinstance(options, Synchronous):
        return SynchronousRegime(setup, workers)
    raise NotImplementedError(options)
