"""``tfw2v cluster`` starts and watches whole clusters; ``tfw2v task`` runs one ps or worker.

The training named after ``--`` runs in a separate process. If that process is killed, the command
restarts it. If the command exits, the training exits, too. ``cluster check`` after ``--``
measures the links of the cluster instead.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

from gensim_tfw2v.cli import started
from gensim_tfw2v.cli.check import check
from gensim_tfw2v.cli.common import (
    BadInput,
    Hosts,
    PsTasks,
    Terminated,
    Verbose,
    WorkerTasks,
    fail,
    fail_stopped,
    option,
)
from gensim_tfw2v.cli.corpus_argument import is_stream
from gensim_tfw2v.cli.train import train
from gensim_tfw2v.cli.usage import HELP, Command, Group
from gensim_tfw2v.files.temporary import TemporaryFolder
from gensim_tfw2v.messages import quoted, require
from gensim_tfw2v.processes.children import start_module

if TYPE_CHECKING:
    from gensim_tfw2v.cluster import Cluster, Task
    from gensim_tfw2v.cluster.launcher import Process

#: Settings of Typer for a command whose own options end at ``--`` or ``train``. The words after it
#: are the training's command line.
TRAINING_SETTINGS = {"allow_extra_args": True, "allow_interspersed_args": False}

#: Words after ``--`` for a check of the links instead of training.
CHECK = ["cluster", "check"]

#: Beginnings of the paths of files that only this process has opened.
DESCRIPTOR_PATHS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")

#: Maximum number of restarts of a killed training process.
MAX_RESTARTS = 10

_trainings = typer.Typer(add_completion=False)
_trainings.command(cls=Command, context_settings=HELP)(train)
_checks = typer.Typer(add_completion=False)
_checks.command(cls=Command, context_settings=HELP)(check)

app = typer.Typer(cls=Group, no_args_is_help=True, help="Start, watch and stop clusters.")


for command in (check, started.ls, started.logs, started.stop):
    app.command(cls=Command)(command)


@app.command(cls=Command, context_settings=TRAINING_SETTINGS)
def ssh(
    context: typer.Context,
    hosts: Annotated[
        Path,
        option(
            "JSON or YAML file with the addresses of all tasks, this machine's as chief: "
            '{"chief": ["10.0.0.1:2222"], "ps": ["10.0.0.2:2222"], "worker": ["10.0.0.3:2222"]}.'
        ),
    ],
    ssh: Annotated[
        str, option("OpenSSH client with options, such as 'ssh -p 2200 -l me'.")
    ] = "ssh",
    command: Annotated[
        str,
        option(
            "Shell command that runs tfw2v on the hosts, such as '. venv/bin/activate && tfw2v'."
        ),
    ] = "tfw2v",
    seconds: Annotated[float, option("Seconds to wait for the tasks to start.", min=1)] = 30.0,
    dry_run: Annotated[bool, option("Only print the commands.", "--dry-run")] = False,
    verbose: Verbose = False,
) -> None:
    """Train on a cluster of other hosts: tfw2v cluster ssh --hosts FILE -- train CORPUS -o MODEL.

    Starts each task over ssh, which must not ask for a password, and shows its output. Tasks that
    exit are restarted. The training program runs on this machine; when it ends, all tasks stop. If
    a ps or this program is lost, so is the work since the last checkpoint. To measure the links
    between the hosts instead, end the command with -- cluster check.
    """
    is_check = _names_check(context)
    arguments, values = parse_check(context) if is_check else parse_training(context)

    from gensim_tfw2v.cluster.descriptions import read_hosts
    from gensim_tfw2v.cluster.ssh_cluster import SshCluster

    cluster = read_hosts(hosts)
    if cluster.chief is None:
        raise BadInput(
            f"{hosts}: has no chief; add the address at which tasks reach this machine, as in "
            '"chief": ["10.0.0.1:2222"]'
        )
    try:
        client = shlex.split(ssh)
    except ValueError as error:
        raise BadInput(f"--ssh is {quoted(ssh)}: quote it as for a shell ({error})") from error
    if not client:
        raise BadInput("--ssh is empty: give the OpenSSH client, as in --ssh 'ssh -p 2200'")
    if shutil.which(client[0]) is None:
        raise BadInput(f"--ssh is {quoted(ssh)}: no program {quoted(client[0])} is installed here")
    log_dir = None if values.get("log_dir") is None else os.path.abspath(values["log_dir"])
    tasks = SshCluster(cluster, _show, client, command, seconds, log_dir)
    if dry_run:
        for task in cluster.servers():
            print(shlex.join(tasks.arguments(task)))
        program = CHECK if is_check else ["train"]
        print(shlex.join(["tfw2v", *program, *arguments, "--hosts", str(hosts)]))
        return
    if is_check:
        with tasks:
            start = functools.partial(start_module, "gensim_tfw2v.cli.start")
            _run_check(arguments, cluster, start)
    config = {"TF_CONFIG": cluster.tf_config("chief", 0)}
    with checkpoint_arguments(arguments, values) as training, tasks, tasks.restarting():
        supervise([*training, "--cluster", "TF_CONFIG"], config)


def _show(task: Task, line: str) -> None:
    from gensim_tfw2v.cluster.started_task import prefix_line

    sys.stderr.write(f"{prefix_line(task, line)}\n")  # one call per line: several threads write
    sys.stderr.flush()


@app.command(cls=Command, context_settings=TRAINING_SETTINGS)
def local(
    context: typer.Context,
    ps_tasks: PsTasks = 1,
    worker_tasks: WorkerTasks = 2,
    verbose: Verbose = False,
) -> None:
    """Train on a local cluster: tfw2v cluster local -- train CORPUS -o MODEL.

    Starts, watches and stops the tasks. A killed worker is restarted. If a ps, the coordinator or
    the command itself is killed, training resumes from the last checkpoint.
    """
    if _names_check(context):
        arguments, _ = parse_check(context)

        from gensim_tfw2v.cluster.local_cluster import LocalCluster

        tasks = LocalCluster(ps_tasks, worker_tasks)
        with tasks:
            # not cli.start, which replaces standard streams: a fork inherits them from its server
            start = functools.partial(tasks.start_module, "gensim_tfw2v.cli.main")
            _run_check(arguments, tasks.cluster, start)
    with checkpoint_arguments(*parse_training(context)) as command:
        supervise([*command, "--cluster", f"local:ps={ps_tasks},worker={worker_tasks}"])


@app.command(cls=Command)
def status(
    seconds: Annotated[float, option("Seconds to wait for all tasks.", min=0.1)] = 10.0,
    hosts: Hosts = None,
    name: Annotated[
        str | None,
        option("Name of a cluster that this machine has started, as in tfw2v cluster ls."),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """List the tasks of a cluster and whether each answers; exit status 1 if one does not.

    The cluster is that of --hosts, --name or TF_CONFIG; without any of them, all clusters that
    tfw2v has started from this machine are listed. Waits for tasks that restart to free their
    memory after a training run.
    """
    require("tfw2v cluster", "tensorflow")
    if hosts is not None and name is not None:
        raise BadInput("--hosts and --name exclude each other; give only one of them")
    advice = "a task that is starting or restarting may need more --seconds"
    is_described = hosts is not None or bool(os.environ.get("TF_CONFIG"))
    if name is not None or (not is_described and started.has_running_cluster()):
        if not started.print_states(name, seconds):
            fail(f"not all tasks serve after {seconds:g} s; {advice}", status=1)
        return

    from gensim_tfw2v.cluster import MissingTasks, wait_for_tasks
    from gensim_tfw2v.cluster.descriptions import from_tf_config, read_hosts

    tasks = (read_hosts(hosts) if hosts else from_tf_config(os.environ)[0]).servers()
    missing: tuple[object, ...] = ()
    try:
        wait_for_tasks(tasks, seconds)
    except MissingTasks as error:
        missing = error.tasks
    for task in tasks:
        answers = "does not answer" if task in missing else "answers"
        print(f"{task.role:<7}{task.index:<4}{task.address:<23} {answers}")
    if missing:
        fail(f"no answer within {seconds:g} s; {advice}", status=1)


def task(
    hosts: Hosts = None,
    role: Annotated[
        Literal["ps", "worker"] | None,
        option("Which task this is, with --hosts; by default, a worker."),
    ] = None,
    index: Annotated[
        int | None,
        option("Index among the tasks of that role, with --hosts; by default 0.", min=0),
    ] = None,
    log_dir: Annotated[
        str | None,
        option(
            "The training's folder for TensorBoard: this task adds a run with its CPU time, "
            "memory and network traffic.",
            envvar="TFW2V_LOG_DIR",
        ),
    ] = None,
    with_parent: Annotated[
        bool, option("Exit when standard input closes, as over ssh.", "--with-parent")
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Run one task of a cluster, a ps or a worker, until SIGTERM or Ctrl-C.

    The program that trains, with cluster="TF_CONFIG", is the cluster's chief. TensorFlow's server
    has no authentication: anyone who can reach its port can run programs on this machine.
    """
    from gensim_tfw2v.cluster.descriptions import from_tf_config, read_hosts
    from gensim_tfw2v.cluster.spec import LOG_DIR
    from gensim_tfw2v.cluster.supervisor import run_task, run_task_of_parent

    if hosts is not None:
        cluster = read_hosts(hosts)
        own_task = cluster.task(role or "worker", index or 0)
    elif role is None and index is None:
        cluster, own_task = from_tf_config(os.environ)
    else:
        raise BadInput("--role and --index need --hosts; without it, TF_CONFIG names the task")
    if own_task.role == "chief":
        raise BadInput("TF_CONFIG makes this the chief: run the program that trains here")
    require("tfw2v task", "tensorflow")
    os.environ["TF_CONFIG"] = cluster.tf_config(own_task.role, own_task.index)
    os.environ[LOG_DIR] = log_dir or ""
    if with_parent:
        run_task_of_parent(verbose)
    run_task(own_task, verbose)


def _names_check(context: typer.Context) -> bool:
    """Return whether ``cluster check`` follows ``--`` instead of a training command."""
    return context.args[: len(CHECK)] == CHECK


def parse_check(context: typer.Context) -> tuple[list[str], dict[str, Any]]:
    """Return the arguments after ``cluster check``, and the values of its parameters."""
    require("tfw2v cluster", "tensorflow")
    arguments = [*context.args[len(CHECK) :], *_forwarded_options(context)]
    return _parse_program(arguments, _checks, "tfw2v cluster check")


def _forwarded_options(context: typer.Context) -> list[str]:
    """Return the options of this command that are meant for the program after ``--``, too."""
    return ["--verbose"] if context.params.get("verbose") else []


def _parse_program(
    arguments: list[str], program: typer.Typer, name: str
) -> tuple[list[str], dict[str, Any]]:
    """Return the arguments of the program after ``--``, and the values of its parameters."""
    for argument in {"--cluster", "--hosts"} & {argument.split("=")[0] for argument in arguments}:
        raise BadInput(f"{argument} is set by this command: leave it out after --")
    parser = typer.main.get_command(program)
    return arguments, parser.make_context(name, list(arguments)).params


def parse_training(context: typer.Context) -> tuple[list[str], dict[str, Any]]:
    """Return the arguments after ``train``, and the values of the parameters of `train`."""
    require("tfw2v cluster", "tensorflow")
    if context.args[:1] != ["train"]:
        got = f", not {quoted(context.args[0])}" if context.args else ""
        raise BadInput(
            f"give the training after --, as in: {context.command_path} -- train CORPUS -o "
            f"MODEL{got}"
        )
    arguments, values = _parse_program(
        [*context.args[1:], *_forwarded_options(context)], _trainings, "tfw2v train"
    )
    # standard input of the training is a pipe of this process, even if that of this one is a file
    corpus = Path(values["corpus"])  # a string with the lowest version of Typer
    if is_stream(corpus) or str(corpus).startswith(DESCRIPTOR_PATHS):
        raise BadInput(
            f"{corpus}: a stream cannot be read again when training restarts; write "
            "the text to a file (or run: tfw2v train - --cluster local:ps=1,worker=2)"
        )
    return arguments, values


@contextlib.contextmanager
def checkpoint_arguments(
    arguments: Sequence[str], values: Mapping[str, Any]
) -> Iterator[list[str]]:
    """Yield the arguments of ``tfw2v`` for a training run that writes checkpoints.

    Without ``--checkpoint-dir``, checkpoints are written to a temporary folder.
    """
    command = ["train", *arguments]
    if values["checkpoint_dir"] is not None:
        yield command
        return
    with TemporaryFolder("checkpoints") as folder:
        yield [*command, "--checkpoint-dir", str(folder)]


def supervise(command: Sequence[str], environment: Mapping[str, str] | None = None) -> NoReturn:
    """Run a command of this tool, restart it whenever it is killed, and exit with its exit status.

    The command has its own process group, so it receives Ctrl-C only from this process, which then
    waits for its exit. It also exits if this process is killed.
    """
    for restart in range(MAX_RESTARTS + 1):
        status = _wait(start_module("gensim_tfw2v.cli.start", *command, environment=environment))
        if status >= 0:
            raise typer.Exit(status)
        if restart < MAX_RESTARTS:
            print(
                f"tfw2v: the training was killed by signal {-status}; resuming from its last "
                "checkpoint",
                file=sys.stderr,
            )
    fail(f"the training was killed {MAX_RESTARTS + 1} times", status=1)


def _run_check(
    arguments: Sequence[str], cluster: Cluster, start: Callable[..., Process]
) -> NoReturn:
    """Measure the links of a cluster in a process of the tool, which `start` starts, and exit."""
    config = {"TF_CONFIG": cluster.tf_config("ps", 0)}
    status = _wait(start(*CHECK, *arguments, environment=config))
    if status < 0:
        fail(f"the check was killed by signal {-status}", status=1)
    raise typer.Exit(status)


def _wait(process: Process) -> int:
    """Wait until a process of this tool exits; stop it after an interrupt. Return its status."""
    try:
        return process.wait()
    except BaseException as error:
        is_interrupted = isinstance(error, KeyboardInterrupt)
        status = _stop(process, signal.SIGINT if is_interrupted else signal.SIGTERM)
        if status >= 0:
            raise typer.Exit(status) from error  # the process has printed its results so far
        if isinstance(error, KeyboardInterrupt | Terminated):
            fail_stopped(error, "; nothing was saved")  # as the process prints
        raise
    finally:
        assert process.stdin is not None
        process.stdin.close()


def _stop(process: Process, signal_number: int) -> int:
    """Send a signal to a process, or kill it if it does not exit in time; return its status."""
    process.send_signal(signal_number)
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(started.STOPPING_SECONDS)
    finally:  # a second Ctrl-C interrupts the wait
        process.kill()
        status = process.wait()
    return status
