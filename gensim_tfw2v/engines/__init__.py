"""Engines, which train the work units of workers, and the choice of one.

See `gensim_tfw2v.parameter_server.engine.Engine` for what an engine must offer. Threads that share
the rows of this process need no engine: they call the compiled kernels without TensorFlow (see
`gensim_tfw2v.regimes.local`).
"""

from __future__ import annotations

import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gensim_tfw2v.engines.problem import Problem
    from gensim_tfw2v.parameter_server.engine import Engine

#: Engines with their modules, in the order in which they are tried. An engine's module is imported
#: when its turn comes.
ENGINES: tuple[str, ...] = (
    "gensim_tfw2v.engines.compiled:CompiledEngine",
    "gensim_tfw2v.engines.tensorflow:TensorFlowEngine",
)


def choose_engine(problem: Problem) -> Engine:
    """Return the first `Engine` that can train.

    Raises
    ------
    RuntimeError
        If training needs the compiled kernels, and they are not available.
    """
    for name in ENGINES:
        engine: type[Engine] = pkgutil.resolve_name(name)
        if engine.can_train(problem):
            return engine.from_problem(problem)
    raise RuntimeError("no engine can train with these options")
