"""A cluster as one job of Slurm: a file for ``sbatch``."""

import shlex
from dataclasses import dataclass
from importlib import resources

from gensim_tfw2v.cluster.manifests.plan import RESTARTS, Plan, Size
from gensim_tfw2v.cluster.spec import ClusterError
from gensim_tfw2v.monitor.task import LOG_DIR

#: What is the same in every job, after the variables that the file begins with.
SCRIPT = "slurm.sh"


@dataclass(frozen=True)
class Allocation:
    """What a job asks of Slurm, beside how many tasks.

    Parameters
    ----------
    size : Size
        Of each task: Slurm gives all of a job the same.
    first_port : int, optional
        Tasks listen at this and the following ports; by default at ports that follow from the
        job's number, so that jobs which share a node take different ones.
    setup : str
        A line of shell that makes the command ``tfw2v`` known.
    """

    size: Size = Size(3, 4)
    first_port: int | None = None
    setup: str = ""

    def __post_init__(self) -> None:
        if "\n" in self.setup:
            raise ClusterError("setup has several lines: write one, with ; or && between commands")


def slurm_file(plan: Plan, allocation: Allocation | None = None) -> str:
    """Write the batch script of a job that is a cluster and its training.

    Its exit status is that of the training.

    Raises
    ------
    ClusterError
        If ports would be above 65535.
    """
    allocation = allocation or Allocation()
    tasks, size, first = plan.ps + plan.workers + 1, allocation.size, allocation.first_port
    if first is not None and not 1024 <= first <= (1 << 16) - tasks:
        raise ClusterError(
            f"port is {first}: {tasks} tasks need as many ports from it on, from 1024 to 65535"
        )
    head = f"""\
#!/bin/bash
# {_comment(plan.intro("slurm"))}
#
# TensorFlow's servers have no authentication: whoever reaches one runs code as the job's user.
# Submit it only where a firewall keeps other users and machines from the ports of the nodes.
#
#SBATCH --job-name={plan.name}
#SBATCH --ntasks={tasks}
#SBATCH --cpus-per-task={size.cpus}
#SBATCH --mem-per-cpu={-(-1024 * size.memory // size.cpus)}M
#SBATCH --output={plan.name}-%j.log
#SBATCH --open-mode=append
#SBATCH --requeue

PS={plan.ps}
WORKERS={plan.workers}
FIRST_PORT={"" if first is None else first}  # empty: from the number of the job
RESTARTS={RESTARTS}  # how often a task, and the training, is started again
TRAINING=({shlex.join(plan.training.command())})
export {LOG_DIR}={shlex.quote(plan.training.log_dir or "")}  # where all tasks log for TensorBoard
"""
    setup = f"\n{allocation.setup}\n" if allocation.setup else ""
    body = resources.files(__package__).joinpath(SCRIPT).read_text(encoding="utf-8")
    return f"{head}{setup}\n{body}"


def _comment(text: str) -> str:
    return text.replace("\n", "\n# ")
