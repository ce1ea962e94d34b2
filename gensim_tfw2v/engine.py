"""The regime that a model asks for, ready to train."""

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.attributes import (
    kept_share,
    rates_of,
    step_shape,
    unit_program,
    words_of,
)
from gensim_tfw2v.cluster.nursery import Nursery
from gensim_tfw2v.cluster.opening import LocalTasks, open_cluster, parse_cluster
from gensim_tfw2v.cluster.probe import READY_SECONDS
from gensim_tfw2v.cluster.readers import open_readers
from gensim_tfw2v.cluster.spec import Cluster
from gensim_tfw2v.corpus.held import Reading, reading_here
from gensim_tfw2v.corpus.sampling import Sampling
from gensim_tfw2v.forking import tensorflow_is_lost
from gensim_tfw2v.interrupts import holding_interrupts
from gensim_tfw2v.machine import cores_each
from gensim_tfw2v.monitor.options import log_options
from gensim_tfw2v.monitor.progress import phase
from gensim_tfw2v.native.tensorflow_ops import load_ops
from gensim_tfw2v.options import (
    UNIT_ENTRIES,
    ClusterProgram,
    UnitProgram,
    choose_noise_reuse,
    choose_unit_entries,
)
from gensim_tfw2v.regimes import (
    ClusterSetup,
    CoordinatedRegime,
    Regime,
    RegimeOptions,
    Setup,
    Tables,
    make_in_process,
    parse_regime,
)
from gensim_tfw2v.regimes.options import Asynchronous, SubModels, Synchronous

#: What takes seconds before the first step.
BUILDING = "building the training graph"


def unit_entries(model: Any, tokens: int) -> int:
    """Entries of a work unit, at most, for a corpus of so many tokens."""
    if model.cluster is None and model.regime is None:
        return UNIT_ENTRIES
    workers, threads = _workers_and_threads(model)
    regime = chosen_regime(model)
    if isinstance(regime, SubModels):
        # a worker is given a sample of each unit
        share = sampling_of(regime, 0).share
        return round(choose_unit_entries(_tokens_of_one(regime, tokens), threads) / share)
    entries = choose_unit_entries(tokens, workers * threads)
    if isinstance(regime, Synchronous):
        kept, shape = kept_share(model), step_shape(model, tokens)
        return min(entries, max(1, round(regime.steps * shape.tokens / kept)))
    return entries


def sampling_of(regime: SubModels, seed: int) -> Sampling:
    """Which sentences each sub-model is trained on."""
    rate = 1.0 / regime.models if regime.rate is None else regime.rate
    return Sampling(regime.sampling, regime.models, rate, seed)


def _tokens_of_one(regime: SubModels, tokens: int) -> int:
    """Tokens of an epoch of one sub-model."""
    share = sampling_of(regime, 0).share
    return int(tokens / regime.models if regime.sampling == "equal" else tokens * share)


def open_nursery(model: Any) -> None:
    """Let a local cluster's processes get ready, if the model trains on one."""
    local = model.cluster is not None and isinstance(parse_cluster(model.cluster), LocalTasks)
    if local and model._nursery is None:
        model._nursery = Nursery()


def reading_of(model: Any) -> Reading:
    """Who reads the files of a model's corpus: the hosts of its cluster too, if it has some."""
    if model.cluster is None or isinstance(which := parse_cluster(model.cluster), LocalTasks):
        return reading_here
    return functools.partial(open_readers, which)


def chosen_regime(model: Any) -> RegimeOptions:
    """Of a model that does not train with threads that share the rows."""
    return Asynchronous() if model.regime is None else parse_regime(model.regime)


def _workers_and_threads(model: Any) -> tuple[int, int]:
    """Workers, and threads of each: those of one machine share its cores."""
    if model.cluster is None:
        return int(model.workers), 1
    which = parse_cluster(model.cluster)
    if isinstance(which, LocalTasks):
        return which.workers, min(int(model.workers), cores_each(which.workers))
    return len(which.worker), int(model.workers)


def worker_program(model: Any, program: UnitProgram, tokens: int) -> ClusterProgram:
    """What a worker runs, for a corpus of so many tokens."""
    workers, threads = _workers_and_threads(model)
    if isinstance(chosen_regime(model), Asynchronous) and model.layout == "rows":
        # rows travel once for a whole unit; where they travel more often, it saves little
        program = replace(program, noise_reuse=choose_noise_reuse(tokens, workers * threads))
    return ClusterProgram(program, workers, threads, layout=model.layout)


def trains_natively(model: Any) -> bool:
    """Whether compiled kernels train: of a layout of whole rows, by steps one after the other."""
    of_regime = isinstance(chosen_regime(model), Asynchronous | Synchronous | SubModels)
    return (
        of_regime
        and model.layout == "rows"
        and not tf.config.list_physical_devices("GPU")
        and load_ops() is not None
    )


@contextlib.contextmanager
def open_regime(
    model: Any, tokens: int, window: int, units: int, max_entries: int, seed: int, folder: Path
) -> Iterator[Regime]:
    """Make it, and end it, with the tasks that were started for it.

    A process that was forked after TensorFlow had run lets another process train.

    Parameters
    ----------
    model : TFWord2Vec
    tokens : int
        Of the corpus, that are in the vocabulary.
    window : int
        How far windows can reach in it.
    units, max_entries : int
        Work units of an epoch, and entries of each, at most.
    seed : int
    folder : Path
        For what a cluster needs while it trains.

    Raises
    ------
    MissingTasks
        If tasks of the cluster do not answer.
    """
    regime_options = chosen_regime(model)
    if isinstance(regime_options, SubModels):
        tokens = _tokens_of_one(regime_options, tokens)
    native = trains_natively(model)
    program = unit_program(model, tokens, max_entries, window, native)
    is_shared = model.cluster is None and model.regime is None
    setup = Setup(
        ClusterProgram(program, int(model.workers))
        if is_shared
        else worker_program(model, program, tokens),
        words_of(model),
        Tables(None, None, None) if is_shared else rates_of(model, program.shape.window),
        rows=len(model.wv),
        units=units,
        seed=seed,
        folder=folder,
    )
    in_process = None if is_shared else regime_options
    log = log_options(model.log_dir)
    log_dir = None if log is None else log.path
    if model.cluster is None and tensorflow_is_lost():
        asked = ClusterSetup(None, READY_SECONDS, in_process, setup, log_dir)
        with phase(BUILDING, model.progress):
            elsewhere = CoordinatedRegime(asked, lambda: None)
        with contextlib.closing(elsewhere):
            yield elsewhere
        return
    if model.cluster is None:
        with phase(BUILDING, model.progress), holding_interrupts():
            made: Any = make_in_process(in_process, setup)
        with contextlib.closing(made):
            yield made
        return
    which = parse_cluster(model.cluster)
    with contextlib.ExitStack() as stack:
        with phase(doing_for(which), model.progress):
            opened = stack.enter_context(
                open_cluster(which, READY_SECONDS, model._nursery, log_dir)
            )
        with phase(BUILDING, model.progress):
            asked = ClusterSetup(opened.cluster, READY_SECONDS, regime_options, setup, log_dir)
            coordinated = CoordinatedRegime(asked, opened.check, opened.start_module)
        with contextlib.closing(coordinated):
            yield coordinated


def doing_for(which: Cluster | LocalTasks) -> str:
    """What is done for a cluster before it trains."""
    if isinstance(which, LocalTasks):
        return f"starting {which.ps} ps and {which.workers} {_workers(which.workers)}"
    return f"waiting for {len(which.ps)} ps and {len(which.worker)} {_workers(len(which.worker))}"


def _workers(number: int) -> str:
    return "worker" if number == 1 else "workers"
