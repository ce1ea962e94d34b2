"""A model's options, parsed and checked together in one place."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gensim_tfw2v.cluster.open_cluster import LocalTasks, parse_cluster
from gensim_tfw2v.cluster.spec import Cluster
from gensim_tfw2v.kernel.native import plain
from gensim_tfw2v.kernel.objectives import Cbow, Objective, SkipGram
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.monitor.tensorboard_log import TensorBoardLog, log_options
from gensim_tfw2v.parameter_server.layouts import LAYOUTS
from gensim_tfw2v.regimes.options import Asynchronous, RegimeOptions, parse_regime

#: What a model's attributes say of its training. What `train` is told as well, it says itself.
ATTRIBUTES = (
    *("sg", "hs", "negative", "cbow_mean", "corrected_cbow", "negative_shards"),
    *("vector_size", "window", "alpha", "shrink_windows", "workers"),
    *("cluster", "regime", "layout", "log_dir", "checkpoint_dir", "checkpoint_minutes"),
    *("encoded_dir", "progress", "has_subwords"),
)


@dataclass(frozen=True)
class TrainingConfig:
    """Options of a training, as its code reads them; `TFWord2Vec` says what they mean."""

    objective: Objective
    has_subwords: bool  # whether inputs are made of n-grams' rows, too
    vector_size: int
    window: int
    alpha: float
    negative_shards: int
    workers: int
    shrink_windows: bool
    cluster: Cluster | LocalTasks | None
    regime: RegimeOptions | None  # None for the default: see `shares_rows`, `regime_of_workers`
    layout: str  # "rows" or "columns"
    log: TensorBoardLog | None
    checkpoint_dir: Path | None
    checkpoint_seconds: float
    encoded_dir: str | None
    progress: bool | None

    @classmethod
    def of(cls, model: Any) -> "TrainingConfig":
        """Read the attributes of a model."""
        return cls.parse({name: getattr(model, name) for name in ATTRIBUTES})

    @classmethod
    def parse(cls, options: Mapping[str, Any]) -> "TrainingConfig":
        """Parse options of `TFWord2Vec`, each of the kind that `gensim_tfw2v.checks` asks for.

        Raises
        ------
        ValueError
            If `log_dir`, `regime` or `layout` is invalid, or does not go together with the others.
        ClusterError
            If `cluster` is invalid.
        """
        log = log_options(options["log_dir"])
        regime = None if options["regime"] is None else parse_regime(options["regime"])
        cluster = None if options["cluster"] is None else parse_cluster(options["cluster"])
        folder, negative = options["checkpoint_dir"], int(options["negative"])
        config = cls(
            objective=_objective(options),
            has_subwords=options.get("has_subwords", False),
            vector_size=options["vector_size"],
            window=int(options["window"]),
            alpha=float(options["alpha"]),
            negative_shards=int(options.get("negative_shards", 1)) if negative else 1,
            workers=int(options["workers"]),
            shrink_windows=bool(options["shrink_windows"]),
            cluster=cluster,
            regime=regime,
            layout=options["layout"],
            log=log,
            checkpoint_dir=None if folder is None else Path(folder),
            checkpoint_seconds=60.0 * options["checkpoint_minutes"],
            encoded_dir=options["encoded_dir"],
            progress=options["progress"],
        )
        config._check_layout()
        config._check_subwords()
        config.regime_of_workers.check_objective(config.objective)
        return config

    @property
    def shares_rows(self) -> bool:
        """True if the compiled kernels train on shared rows, in threads of this process."""
        return self.cluster is None and self.regime is None and plain.is_available()

    @property
    def counting_threads(self) -> int:
        """Threads that count what they have trained, each its own part of a file.

        What trains a sub-model, and what takes the part of a worker in this process, is one.
        """
        is_one = self.cluster is None or self.regime_of_workers.trains_apart
        return 1 if self.regime is not None and is_one else self.workers

    @property
    def regime_of_workers(self) -> RegimeOptions:
        """The regime, where there are workers."""
        return self.regime or Asynchronous()

    def _check_layout(self) -> None:
        if not isinstance(self.layout, str) or self.layout not in LAYOUTS:
            raise ValueError(
                f"layout is {quoted(self.layout)}: give {' or '.join(map(repr, LAYOUTS))}"
            )
        if self.layout == "columns" and not self.regime_of_workers.takes_columns:
            raise ValueError(
                "layout='columns' updates the columns where they are in each step, so "
                f"regime={self.regime} has no rows to fetch and push: leave out one of the two"
            )
        if self.layout == "columns" and self.cluster is None:
            raise ValueError("layout='columns' spreads columns over ps tasks: give a cluster")

    def _check_subwords(self) -> None:
        by_graph = self.layout == "columns" or not self.regime_of_workers.has_kernels
        if self.has_subwords and by_graph:
            raise ValueError(
                f"layout={self.layout!r} with regime={self.regime} trains by TensorFlow's own "
                "operations, which make no inputs of n-grams' rows, as FastText needs: give "
                "layout='rows', and no regime or 'asynchronous', 'synchronous' or 'submodels'"
            )


def _objective(options: Mapping[str, Any]) -> Objective:
    negative, hierarchical = int(options["negative"]), bool(int(options["hs"]))
    if int(options["sg"]):
        return SkipGram(negative, hierarchical)
    return Cbow(
        negative, bool(int(options["cbow_mean"])), hierarchical, bool(options["corrected_cbow"])
    )
