"""A regime whose workers are threads of this process."""

from dataclasses import replace

from gensim_tfw2v.regimes.local import LocalRegime, use_one_thread_per_op
from gensim_tfw2v.regimes.options import RegimeOptions
from gensim_tfw2v.regimes.parameter_server import ParameterServerRegime, Setup
from gensim_tfw2v.regimes.workers import LocalWorkers


def make_in_process(
    options: RegimeOptions | None, setup: Setup
) -> ParameterServerRegime | LocalRegime:
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
    return options.make(in_process, LocalWorkers(program.workers))
