"""Validated options of a model, as training reads them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from gensim_tfw2v.cluster.spec import Cluster, LocalTasks
from gensim_tfw2v.kernel.objective import Objective
from gensim_tfw2v.monitor.tensorboard_log import TensorBoardLog
from gensim_tfw2v.options.kinds import Kind
from gensim_tfw2v.options.regimes import Asynchronous, Deterministic, RegimeOptions, check_gradient
from gensim_tfw2v.options.table import ARGUMENTS, DEFAULTS

#: Default regimes on a cluster, without and with `deterministic`.
ASYNCHRONOUS = Asynchronous()
DETERMINISTIC = Deterministic()


@dataclass(frozen=True)
class TrainingConfig:
    """Validated options of a training run; see `TFWord2Vec` for most of them."""

    objective: Objective
    has_subwords: bool  # whether inputs include the rows of n-grams, as in FastText
    has_documents: bool  # whether inputs include the tags of documents, as in Doc2Vec
    dbow_words: bool  # whether skip-gram of documents also trains words
    concatenated: int  # number of inputs concatenated in the hidden layer; 0: sum or mean
    vector_size: int
    window: int
    alpha: float  # the maximum learning rate, without its sign
    negative_shards: int
    learn_hidden: bool  # whether the output layer is trained, or only read
    workers: int
    shrink_windows: bool
    deterministic: bool
    cluster: Cluster | LocalTasks | None
    regime: RegimeOptions | None  # None: `regime_of_workers`, or threads that share rows
    layout: str  # "rows" or "columns"
    wire: str  # type in which rows are sent: "int8", "bfloat16" or "float32"
    log: TensorBoardLog | None
    checkpoint_dir: Path | None
    checkpoint_seconds: float
    encoded_dir: Path | None
    tables_dir: Path | None
    progress: bool | None

    @classmethod
    def parse(
        cls,
        options: Mapping[str, Any],
        kinds: Mapping[str, Kind],
        has_subwords: bool = False,
        has_documents: bool = False,
    ) -> "TrainingConfig":
        """Check each option by its kind, then the options in combination.

        `kinds` are the checks of the options: `ARGUMENTS` if they are arguments of a constructor,
        or the result of `attributes_of` if they are attributes of a model.

        Raises
        ------
        TypeError, ValueError
            If a value is of the wrong type or out of range, or options exclude one another.
        ClusterError
            If `cluster` is invalid.
        """
        raw = SimpleNamespace(**{**DEFAULTS, **options})
        if has_documents and kinds is ARGUMENTS:  # Doc2Vec's constructor has dm in place of sg
            raw.sg = int(not raw.dm)
        # in DBOW without dbow_words, tags predict all words of their document: there is no window
        ignores_window = has_documents and raw.sg and not raw.dbow_words
        if ignores_window and raw.window == 0:  # some programs pass 0, which gensim accepts
            raw.window = 1
        values = vars(raw)
        for name, kind in kinds.items():
            if values[name] is not DEFAULTS[name]:
                values[name] = kind(name, values[name])
        is_concatenated = raw.dm_concat and not raw.sg
        raw.window = 1 if ignores_window else raw.window
        # a concatenated hidden layer has a part for each position, so windows have one size
        raw.shrink_windows &= not is_concatenated
        raw.negative_shards = raw.negative_shards if raw.negative else 1
        raw.alpha = max(abs(raw.alpha), abs(raw.min_alpha))
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
            concatenated=raw.dm_tag_count + 2 * raw.window if is_concatenated else 0,
            log=raw.log_dir,
            checkpoint_seconds=60.0 * raw.checkpoint_minutes,
        )
        config._check()
        return config

    @cached_property
    def regime_of_workers(self) -> RegimeOptions:
        """Regime of training by workers: the option, or the default regime."""
        return self.regime or (DETERMINISTIC if self.deterministic else ASYNCHRONOUS)

    @property
    def kernels_class(self) -> str | None:
        """Name of gensim's class if only the compiled kernels can train it; None for Word2Vec."""
        if self.has_subwords:
            return "FastText"
        return "Doc2Vec" if self.has_documents else None

    def _check(self) -> None:
        """Raise a ValueError if options exclude one another."""
        regime = self.regime_of_workers
        has_columns = self.layout == "columns"
        if self.deterministic and (self.regime or has_columns):
            raise ValueError(
                "deterministic=True implies a regime of its own, with layout='rows': "
                "leave out regime and layout, or deterministic"
            )
        if has_columns and not regime.combines_by_direction:
            raise ValueError(
                "layout='columns' updates columns on the ps tasks in each step, and leaves "
                "the regime no rows to fetch and push: leave out one of the two"
            )
        if regime.trains_apart and self.tables_dir is not None:
            raise ValueError(
                f"{type(regime).__name__} trains and merges whole models in memory, and cannot use "
                "tables_dir: leave out one of the two"
            )
        if has_columns and self.cluster is None:
            raise ValueError("layout='columns' spreads columns over ps tasks: set cluster")
        if self.concatenated and (self.cluster or self.regime):
            raise ValueError(
                "dm_concat=1 can be trained only by threads of one machine: leave out cluster and "
                "regime, or dm_concat"
            )
        if not self.learn_hidden and (self.cluster or self.regime or self.kernels_class):
            raise ValueError(
                "with learn_hidden=False, as in a model of train_slice, only Word2Vec can be "
                "trained, by threads of one machine: leave out cluster and regime"
            )
        needs_tensorflow = has_columns or not regime.has_kernels
        merges_documents = self.has_documents and regime.trains_apart
        if self.kernels_class and (needs_tensorflow or merges_documents):
            reason = "merges only vectors of words, not of documents"
            if needs_tensorflow:
                reason = "trains by TensorFlow's own operations, which do not support its inputs"
            alternatives = "'asynchronous' or 'synchronous'"
            if not self.has_documents:
                alternatives = "'asynchronous', 'submodels' or 'synchronous'"
            raise ValueError(
                f"{self.kernels_class} can't be trained with layout={self.layout!r} and the regime "
                f"{type(regime).__name__}, "
                f"which {reason}: use layout='rows', and no regime, {alternatives}"
            )
        if regime.is_batch:
            check_gradient(self.objective)
