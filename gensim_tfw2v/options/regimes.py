"""Options of the regimes, the distributed training strategies that a user chooses from.

Each class is data: properties of the regime, and its options. The module that implements it is
imported only by `RegimeOptions.make`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, fields
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from gensim_tfw2v.messages import number, quoted, require, whole_number
from gensim_tfw2v.options.kinds import Kind, OneOf, positive

if TYPE_CHECKING:
    import numpy as np

    from gensim_tfw2v.corpus.sampling import Sampling
    from gensim_tfw2v.kernel.objective import Objective
    from gensim_tfw2v.parameter_server.workers import Workers


@dataclass(frozen=True)
class RegimeOptions:
    """Base class of the regimes' options.

    Attributes
    ----------
    trained_by : str
        Module and class that implement the regime, in `gensim_tfw2v.regimes`.
    has_kernels : bool
        Whether the compiled kernels can train under the regime. Kernels need whole units, and local
        copies of all rows of a unit.
    combines_by_direction : bool
        Whether concurrent changes are combined by direction; see
        `gensim_tfw2v.parameter_server.combining`. The regime then also supports tables in columns.
    trains_apart : bool
        Whether each worker trains a separate model.
    workers_overlap : bool
        Whether workers change the same rows concurrently, unless they train one at a time.
    is_batch : bool
        Whether an epoch is one evaluation of the loss of the whole corpus and its gradient.
    sample_share : float
        Fraction of the corpus that a model is trained on per epoch.
    kinds : dict
        Checks of the regime's options, by their names.
    """

    trained_by: ClassVar[str]
    has_kernels = False
    combines_by_direction = False
    trains_apart = False
    workers_overlap = False
    is_batch = False
    sample_share = 1.0
    kinds: ClassVar[dict[str, Kind]] = {}

    def __post_init__(self) -> None:
        for name, kind in self.kinds.items():
            kind(name, getattr(self, name))

    def make(self, setup: Any, workers: Workers) -> Any:
        """Make the regime, a `ParameterServerRegime`, for a `Setup`.

        Raises
        ------
        ClusterLost
            If a task of the cluster has failed.
        ValueError
            If the regime cannot train the objective.
        """
        class_ = pkgutil.resolve_name(f"gensim_tfw2v.regimes.{self.trained_by}")
        return class_(setup, workers, self)

    @property
    def adapts_alpha(self) -> bool:
        """True if the learning rate of each row follows from its updates, as with Adagrad."""
        return False

    def unit_entries(self, n_entries: int, step_tokens: Callable[[], float]) -> int:
        """Return the maximum entries of a work unit.

        Parameters
        ----------
        n_entries : int
            Number of entries per unit that balances traffic and staleness.
        step_tokens : function () -> float
            Returns the tokens, before subsampling, per step of the TensorFlow fallback.
        """
        return n_entries


@dataclass(frozen=True)
class Asynchronous(RegimeOptions):
    """Asynchronous training: each worker fetches rows, trains and pushes without waiting.

    This regime is the default on a cluster. A worker trains one job at a time, which has one work
    unit per thread of the worker. It fetches the rows of a job once, and pushes their changes once.
    How much of a change is added to a row depends on the curvature of the loss. This regime has no
    options.
    """

    trained_by = "asynchronous:AsynchronousRegime"
    has_kernels = True
    combines_by_direction = True
    workers_overlap = True


@dataclass(frozen=True)
class Synchronous(RegimeOptions):
    """Synchronous training: in rounds, all workers train from one snapshot of the vectors.

    At the end of each round, the changes that the workers have made to the same row are combined.

    Parameters
    ----------
    steps : int, default 32
        Approximate number of minibatches that each thread of a worker trains per round, from 1 up.
        With a smaller number, workers receive each other's changes sooner, but traffic increases.
    combining : "adasum" or "sum", default "adasum"
        Rule by which the changes of several workers to the same row are combined. The result of
        ``"adasum"`` is between the sum and the mean of the changes (Maleki et al. 2021, "Scaling
        Distributed Training with Adaptive Summation", section 3). With ``"sum"`` and ``steps=1``, a
        round is equivalent to one large minibatch.

    Raises
    ------
    ValueError
        If `steps` is below 1 or `combining` is unknown.
    """

    trained_by = "synchronous:SynchronousRegime"
    has_kernels = True
    workers_overlap = True
    kinds = {"steps": positive, "combining": OneOf(("adasum", "sum"))}

    steps: int = 32
    combining: str = "adasum"

    def unit_entries(self, n_entries: int, step_tokens: Callable[[], float]) -> int:
        """Limit units to the steps of a round; see `RegimeOptions.unit_entries`."""
        return min(n_entries, max(1, round(self.steps * step_tokens())))


@dataclass(frozen=True)
class Deterministic(RegimeOptions):
    """Deterministic training: workers train in rounds, and changes are combined by direction.

    The number of jobs per round is the same on any cluster. This regime is used on a cluster with
    `deterministic`, and cannot be chosen by name.
    """

    trained_by = "synchronous:SynchronousRegime"
    has_kernels = True
    combines_by_direction = True
    workers_overlap = True
    combining = "direction"


@dataclass(frozen=True)
class Downpour(RegimeOptions):
    """Downpour SGD: model replicas that fetch rows and push gradients at fixed intervals.

    Dean et al. 2012, "Large Scale Distributed Deep Networks", section 4.1.

    Parameters
    ----------
    n_fetch : int, default 32
        Number of minibatches between two fetches of rows, from 1 up. With a larger number, traffic
        decreases, but the rows that a worker trains are more outdated.
    n_push : int, default 32
        Number of minibatches between two pushes of changes, from 1 up. With a larger number,
        traffic decreases, but the other replicas receive the changes later.
    adagrad : bool, default False
        Give each row the learning rate alpha / sqrt(sum of its squared updates), as in row-wise
        Adagrad. If True, set `alpha` to a value from 0.3 to 1.
    warm_start : float, default 0.0
        Fraction of the first epoch, from 0 to 1, that one replica trains alone. Even with 0, this
        replica trains two million words alone, or two fifths of the epoch if these are fewer words.

    Raises
    ------
    ValueError
        If `n_fetch` or `n_push` is below 1, or `warm_start` is not from 0 to 1.
    """

    trained_by = "downpour:DownpourRegime"
    workers_overlap = True
    kinds = {"n_fetch": positive, "n_push": positive}

    n_fetch: int = 32
    n_push: int = 32
    adagrad: bool = False
    warm_start: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.adagrad, bool):
            raise ValueError(f"adagrad must be True or False, got {quoted(self.adagrad)}")
        if not isinstance(self.warm_start, Real) or not 0 <= self.warm_start <= 1:
            raise ValueError(f"warm_start must be from 0 to 1, got {quoted(self.warm_start)}")

    @property
    def adapts_alpha(self) -> bool:
        """See `RegimeOptions`."""
        return self.adagrad


@dataclass(frozen=True)
class SubModels(RegimeOptions):
    """Sub-models: N models, each trained by one worker on a sample of the corpus, then merged.

    Anand et al. 2019, "Asynchronous Training of Word Embeddings for Large Text Corpora" (WSDM),
    section 3.

    Parameters
    ----------
    models : int, default 10
        Number N of sub-models, from 1 up to the number of sentences. Each worker trains one
        sub-model at a time.
    rate : float, optional
        Fraction of all sentences that a sample contains, above 0 and at most 1; by default 1 / N.
    sampling : "shuffle", "random" or "equal", default "shuffle"
        Way in which sentences are assigned to samples. ``"shuffle"`` draws new samples in each
        epoch, and every sentence is in at least one of them, unless `rate` is below 1 / N.
        ``"random"`` draws samples once, for all epochs. With ``"equal"``, the samples are N
        consecutive parts of the text, and `rate` must not be set.
    merging : "alir", "pca" or "concat", default "alir"
        Method by which the sub-models are merged; see `merge_models`. With ``"concat"``, the merged
        vectors have N times as many dimensions.

    Raises
    ------
    ValueError
        If a value is invalid.
    """

    trained_by = "sub_models:SubModelsRegime"
    has_kernels = True
    trains_apart = True
    kinds = {
        "models": positive,
        "sampling": OneOf(("shuffle", "random", "equal")),
        "merging": OneOf(("alir", "pca", "concat")),
    }

    models: int = 10
    rate: float | None = None
    sampling: str = "shuffle"
    merging: str = "alir"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rate is not None and not (isinstance(self.rate, Real) and 0 < self.rate <= 1):
            raise ValueError(f"rate must be above 0 and at most 1, got {quoted(self.rate)}")
        if self.rate is not None and self.sampling == "equal":
            raise ValueError("sampling='equal' divides the text by models: leave out rate")

    def samples(self, seed: int = 0) -> Sampling:
        """Return the assignment of sentences to sub-models."""
        from gensim_tfw2v.corpus.sampling import Sampling

        rate = 1.0 / self.models if self.rate is None else self.rate
        return Sampling(self.sampling, self.models, rate, seed)

    @property
    def sample_share(self) -> float:  # type: ignore[override]
        """Fraction of the corpus in a sample; see `RegimeOptions`."""
        return 1 / self.models if self.sampling == "equal" else self.samples().rate

    def unit_entries(self, n_entries: int, step_tokens: Callable[[], float]) -> int:
        """Enlarge units so that a unit's sample has `n_entries`; see `RegimeOptions`."""
        return round(n_entries / self.samples().share)


@dataclass(frozen=True)
class Sandblaster(RegimeOptions):
    """Sandblaster L-BFGS: batch training on the whole corpus.

    Each epoch evaluates the loss of the whole corpus and its gradient once (Dean et al. 2012,
    "Large Scale Distributed Deep Networks", section 4.2). This regime supports skip-gram, and CBOW
    with `corrected_cbow`, both only with negative sampling.

    Parameters
    ----------
    history : int, default 10
        Number of past steps from which the curvature is estimated, from 1 up. Each of these steps
        needs as much memory on the ps tasks as two copies of the model.

    Raises
    ------
    ValueError
        If `history` is below 1.
    """

    trained_by = "sandblaster:SandblasterRegime"
    is_batch = True
    kinds = {"history": positive}

    history: int = 10


def check_gradient(objective: Objective) -> None:
    """Raise a ValueError unless updates follow the gradient of a loss, as a batch method needs."""
    if not objective.follows_gradient:
        raise ValueError(
            "a batch method needs the gradient of the loss, but gensim's CBOW (sg=0) computes "
            "a different one: set corrected_cbow=True, or sg=1, or choose a different regime"
        )


def check_lock(lock: np.ndarray) -> None:
    """Raise a ValueError if a row's factor of updates (``vectors_lockf``) is neither 0 nor 1.

    A batch method has no learning rate per row.
    """
    fractions = lock[(lock != 0.0) & (lock != 1.0)]
    if len(fractions):
        raise ValueError(
            "a batch method has no learning rate per row, but wv.vectors_lockf has a factor "
            f"{fractions[0]:g}: use 0 for rows that must not change, and 1 for the remaining ones, "
            "or choose a different regime"
        )


#: Options of regimes, by the names that users pass.
REGIMES: dict[str, type[RegimeOptions]] = {
    "asynchronous": Asynchronous,
    "synchronous": Synchronous,
    "downpour": Downpour,
    "submodels": SubModels,
    "sandblaster": Sandblaster,
}


def parse_regime(regime: RegimeOptions | str) -> RegimeOptions:
    """Parse the options of a regime.

    Parameters
    ----------
    regime : RegimeOptions or str
        A regime, its name, or its name with options: ``"downpour:n_fetch=8,adagrad=true"``.

    Raises
    ------
    ValueError
        If the name of the regime, or the name or value of an option, is invalid.
    """
    require("regime", "tensorflow")
    if isinstance(regime, RegimeOptions):
        return regime
    name, _, options = regime.partition(":") if isinstance(regime, str) else ("", "", "")
    class_ = REGIMES.get(name.strip().lower())
    if class_ is None:
        raise ValueError(
            f"regime is {quoted(regime)}: use {', '.join(map(repr, REGIMES))}, with options as in "
            "'downpour:n_fetch=8,n_push=8'"
        )
    types = {
        field.name: float if field.default is None else type(field.default)
        for field in fields(class_)
    }
    try:
        return class_(**_read_options(name, options, types))
    except ValueError as error:
        raise ValueError(f"regime is {quoted(regime)}: {error}") from None


def _read_options(name: str, options: str, types: dict[str, type]) -> dict[str, Any]:
    """Read options such as ``n_fetch=8,adagrad=true``; `types` are those of all options."""
    values: dict[str, Any] = {}
    for part in filter(None, options.replace(" ", "").split(",")):
        key, _, value = part.partition("=")
        if key not in types:
            raise ValueError(
                f"{name} has no option {quoted(key)} (known: {', '.join(types) or 'it has none'})"
            )
        if key in values:
            raise ValueError(f"{key} is set twice: leave out one")
        values[key] = _parse_value(key, value, types[key])
    return values


def _parse_value(name: str, text: str, type_: type) -> Any:
    if type_ is bool:
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise ValueError(f"{name} is {quoted(text)}: use true or false")
    if type_ is str:
        return text
    try:
        return whole_number(text) if type_ is int else number(text)
    except ValueError:
        type_name = "whole" if type_ is int else "finite"
        raise ValueError(f"{name} is {quoted(text)}: use a {type_name} number") from None
