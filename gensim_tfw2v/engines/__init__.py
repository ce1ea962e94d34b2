"""Engines, which train the work units of workers, and the choice between engines.

`gensim_tfw2v.parameter_server.engine.Engine` is the interface of an engine. Threads that share the
rows of this process need no engine: they call the compiled kernels without TensorFlow (see
`gensim_tfw2v.regimes.local`).
"""

from __future__ import annotations

import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gensim_tfw2v.engines.problem import Problem
    from gensim_tfw2v.parameter_server.engine import Engine

#: Modules and classes of the engines, in the order in which `choose_engine` tries them. A module is
#: imported only if all engines before it cannot train.
ENGINES: tuple[str, ...] = (
    "gensim_tfw2v.engines.compiled:CompiledEngine",
    "gensim_tfw2v.engines.tensorflow:TensorFlowEngine",
)


def choose_engine(problem: Problem) -> Engine:
    """Return the first of the `ENGINES` that can train. The last one always can.

    Raises
    ------
    RuntimeError
        If the training needs the compiled kernels, and they are not available.
    """
    engines = (pkgutil.resolve_name(name) for name in ENGINES)
    engine: type[Engine] = next(engine for engine in engines if engine.can_train(problem))
    return engine.from_problem(problem)
