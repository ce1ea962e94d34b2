"""Options of a model, as the code that trains it reads them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from gensim_tfw2v.cluster.spec import Cluster, LocalTasks
from gensim_tfw2v.kernel.kernel_config import Objective
from gensim_tfw2v.monitor.tensorboard_log import TensorBoardLog
from gensim_tfw2v.options.kinds import Kind
from gensim_tfw2v.options.regimes import Asynchronous, Deterministic, RegimeOptions, check_gradient
from gensim_tfw2v.options.table import ARGUMENTS, DEFAULTS

#: Regimes of clusters, unless another is given.
ASYNCHRONOUS = Asynchronous()
DETERMINISTIC = Deterministic()


@dataclass(frozen=True)
class TrainingConfig:
    """Options of a training; `TFWord2Vec` says what they mean."""

    objective: Objective
    has_subwords: bool  # whether inputs are made of n-grams' rows, too
    has_documents: bool  # whether tags of documents are inputs, too
    dbow_words: bool  # whether skip-gram of documents trains words, too
    concatenated: int  # rows that are a hidden layer, one after the other; 0: their sum or mean
    vector_size: int
    window: int
    alpha: float  # the highest learning rate
    negative_shards: int
    workers: int
    shrink_windows: bool
    deterministic: bool
    cluster: Cluster | LocalTasks | None
    regime: RegimeOptions | None  # None for the default: see `Plan`
    layout: str  # "rows" or "columns"
    wire: str  # type in which rows travel: "int8", "bfloat16" or "float32"
    log: TensorBoardLog | None
    checkpoint_dir: Path | None
    checkpoint_seconds: float
    encoded_dir: Path | None
    progress: bool | None

    @classmethod
    def parse(
        cls,
        given: Mapping[str, Any],
        kinds: Mapping[str, Kind],
        has_subwords: bool = False,
        has_documents: bool = False,
    ) -> "TrainingConfig":
        """Check options by their kinds, and whether they go together.

        `kinds` are `ARGUMENTS` of a constructor, or those of a model's attributes.

        Raises TypeError or ValueError for a value of another kind or out of range, ClusterError for
        an invalid `cluster`, and ValueError for options that exclude one another.
        """
        raw = SimpleNamespace(**{**DEFAULTS, **given})
        if has_documents and kinds is ARGUMENTS:  # Doc2Vec's constructor has dm in place of sg
            raw.sg = int(not raw.dm)
        by_tags = has_documents and raw.sg and not raw.dbow_words  # tags alone predict
        if by_tags and raw.window == 0:  # as programs say so
            raw.window = 1
        values = vars(raw)
        for name, kind in kinds.items():
            if values[name] is not DEFAULTS[name]:
                values[name] = kind(name, values[name])
        concatenates = raw.dm_concat and not raw.sg
        raw.window = 1 if by_tags else raw.window
        raw.shrink_windows &= not concatenates  # as in gensim, each place has rows of its own
        raw.negative_shards = raw.negative_shards if raw.negative else 1
        raw.alpha = max(raw.alpha, raw.min_alpha)
        skipgram = bool(raw.sg)
        objective = Objective(
            skipgram,
            raw.negative,
            mean=not skipgram and bool(raw.cbow_mean),
            hierarchical=bool(raw.hs),
            corrected=not skipgram and raw.corrected_cbow,
        )
        config = cls(
            **{field.name: values[field.name] for field in fields(cls) if field.name in values},
            objective=objective,
            has_subwords=has_subwords,
            has_documents=has_documents,
            concatenated=raw.dm_tag_count + 2 * raw.window if concatenates else 0,
            log=raw.log_dir,
            checkpoint_seconds=60.0 * raw.checkpoint_minutes,
        )
        config._check()
        return config

    @cached_property
    def counting_threads(self) -> int:
        """Threads that count what they have trained, each its own part of a file.

        What trains a sub-model, and what takes the part of a worker in this process, is one.
        """
        is_one = self.cluster is None or self.regime_of_workers.trains_apart
        return 1 if self.regime is not None and is_one else self.workers

    @cached_property
    def regime_of_workers(self) -> RegimeOptions:
        """The regime, where there are workers."""
        return self.regime or (DETERMINISTIC if self.deterministic else ASYNCHRONOUS)

    @property
    def kernels_class(self) -> str | None:
        """Gensim's class whose inputs the compiled kernels alone train; None of Word2Vec."""
        of_documents = "Doc2Vec" if self.has_documents else None
        return "FastText" if self.has_subwords else of_documents

    def _check(self) -> None:
        """Raise a ValueError for options that exclude one another."""
        regime = self.regime_of_workers
        has_columns = self.layout == "columns"
        if self.deterministic and (self.regime or has_columns):
            raise ValueError(
                "deterministic=True shares work in a way of its own, with rows on the ps tasks: "
                "leave out regime and layout, or deterministic"
            )
        if has_columns and not regime.combines_by_direction:
            raise ValueError(
                "layout='columns' updates the columns where they are in each step, and "
                "the regime has no rows to fetch and push: leave out one of the two"
            )
        if has_columns and self.cluster is None:
            raise ValueError("layout='columns' spreads columns over ps tasks: give a cluster")
        if self.concatenated and (self.cluster or self.regime):
            raise ValueError(
                "dm_concat=1 is trained by threads of one machine: leave out cluster and regime, "
                "or dm_concat"
            )
        by_graph = has_columns or not regime.has_kernels
        if (by_graph or self.has_documents and regime.trains_apart) and self.kernels_class:
            why = "merges words that several sub-models have, and documents are not"
            if by_graph:
                why = "trains by TensorFlow's own operations, which have no such inputs"
            rest = "'synchronous'" if self.has_documents else "'synchronous' or 'submodels'"
            raise ValueError(
                f"{self.kernels_class} can't be trained with layout={self.layout!r} and the regime "
                f"{type(regime).__name__}, "
                f"which {why}: give layout='rows', and no regime or 'asynchronous', {rest}"
            )
        if regime.is_batch:
            check_gradient(self.objective)
