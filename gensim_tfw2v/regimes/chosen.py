"""From a regime's options to the regime."""

from dataclasses import replace

from gensim_tfw2v.regimes.asynchronous import AsynchronousRegime
from gensim_tfw2v.regimes.downpour import DownpourRegime
from gensim_tfw2v.regimes.local import LocalRegime, use_one_thread_per_op
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
from gensim_tfw2v.regimes.workers import LocalWorkers, Workers

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


def make_in_process(options: RegimeOptions | None, setup: Setup) -> AnyRegime | LocalRegime:
    """Make a regime whose workers are threads of this process.

    Parameters
    ----------
    options : RegimeOptions, optional
        By default threads that share the rows.
    setup : Setup

    Raises
    ------
    ValueError
        If the regime cannot train the objective.
    """
    program = setup.program
    if options is None:
        return LocalRegime(program.unit, setup.words, program.workers)
    use_one_thread_per_op()
    # nothing travels, so nothing is rounded for it
    in_process = setup._replace(program=replace(program, wire_dtype="float32"))
    return make_regime(options, in_process, LocalWorkers(program.workers))
