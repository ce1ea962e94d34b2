"""Downpour: replicas that fetch rows and push changes every few steps, each at its own time.

Dean et al. 2012, "Large Scale Distributed Deep Networks", section 4.1: also with Adagrad, whose
sums are kept on the ps, and with a warm start, in which one replica trains alone.
"""

from dataclasses import replace

from gensim_tfw2v.kernel.tables import Tables
from gensim_tfw2v.parameter_server.jobs.job import JobProgram, ParameterServer
from gensim_tfw2v.parameter_server.jobs.replica import replica_job
from gensim_tfw2v.parameter_server.layouts import RowLayout
from gensim_tfw2v.parameter_server.workers import Workers
from gensim_tfw2v.regimes.asynchronous import AsynchronousRegime
from gensim_tfw2v.regimes.options import Downpour
from gensim_tfw2v.regimes.parameter_server import Setup


class DownpourRegime(AsynchronousRegime):
    """Jobs as in asynchronous training, whose rows come and go while they are trained.

    Adagrad's sums start at 0 with the regime: `load` leaves them, and `export` has none.

    Parameters
    ----------
    setup : Setup
    workers : Workers
    options : Downpour
    """

    def __init__(self, setup: Setup, workers: Workers, options: Downpour) -> None:
        self.options = options
        program = replace(setup.program, adagrad=options.adagrad)
        super().__init__(setup._replace(program=program), workers)
        self.warm_units = max(self.warm_units, round(options.warm_start * setup.units))

    def _serve(self, setup: Setup) -> ParameterServer:
        server = super()._serve(setup)
        if not self.options.adagrad:
            return server
        squares = (RowLayout(table.rows, 1, self.workers.shards) for table in server.tables)
        return server._replace(squares=Tables(*squares))

    def _job_program(self) -> JobProgram:
        every = self.options.n_fetch, self.options.n_push
        return replica_job(self.program, self.server, *every)
