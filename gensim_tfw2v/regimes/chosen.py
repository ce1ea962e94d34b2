"""From a regime's options to the regime."""

from gensim_tfw2v.regimes.asynchronous import AsynchronousRegime
from gensim_tfw2v.regimes.downpour import DownpourRegime
from gensim_tfw2v.regimes.options import (
    Asynchronous,
    RegimeOptions,
    Sandblaster,
    SubModels,
    Synchronous,
)
from gensim_tfw2v.regimes.sandblaster import SandblasterRegime
from gensim_tfw2v.regimes.served import Setup
from gensim_tfw2v.regimes.sub_models import SubModelsRegime
from gensim_tfw2v.regimes.synchronous import SynchronousRegime
from gensim_tfw2v.regimes.workers import Workers

AnyRegime = AsynchronousRegime | SynchronousRegime | SubModelsRegime | SandblasterRegime


def make_regime(options: RegimeOptions, setup: Setup, workers: Workers) -> AnyRegime:
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
    ValueError
        If the regime cannot train the objective.
    """
    if isinstance(options, Asynchronous):
        return AsynchronousRegime(setup, workers)
    if isinstance(options, Synchronous):
        return SynchronousRegime(setup, workers, options)
    if isinstance(options, SubModels):
        return SubModelsRegime(setup, workers)
    if isinstance(options, Sandblaster):
        return SandblasterRegime(setup, workers, options)
    return DownpourRegime(setup, workers, options)
