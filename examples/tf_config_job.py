"""Train on tasks described by TF_CONFIG, as under a scheduler; here all run on this machine.

Run it with ``python examples/tf_config_job.py``. The corpus, 300 news texts, comes with gensim.
TF_CONFIG is an environment variable with the addresses of all tasks and the role of the process
that reads it; a scheduler sets it for each process. Here, the program itself plays the scheduler:
it starts one ps and two workers with ``tfw2v task``, each with its own TF_CONFIG, and then trains
as their chief. It prints the addresses of the tasks, then for each task that it has exited, and
the neighbours of three words.

TensorFlow's servers have no password and listen on all interfaces: run this only if nobody else can
reach this machine's ports. For a cluster that is unreachable from outside, use
``cluster="local:ps=1,worker=2"``.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

from gensim.models.word2vec import LineSentence
from gensim.test.utils import datapath

from gensim_tfw2v import TFWord2Vec

#: Number of tasks of each role.
N_TASKS = {"chief": 1, "ps": 1, "worker": 2}


def free_addresses() -> dict[str, list[str]]:
    """Return addresses for all tasks, by role, with ports that are currently free."""
    with contextlib.ExitStack() as stack:

        def address() -> str:
            reserved_socket = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            return f"127.0.0.1:{reserved_socket.getsockname()[1]}"

        return {role: [address() for _ in range(n_tasks)] for role, n_tasks in N_TASKS.items()}


@contextlib.contextmanager
def running_tasks(addresses: dict[str, list[str]]) -> Iterator[None]:
    """Start the ps and worker tasks, set TF_CONFIG for the chief, and stop the tasks at the end."""

    def tf_config(role: str, index: int) -> str:
        return json.dumps({"cluster": addresses, "task": {"type": role, "index": index}})

    tasks = {}
    try:
        for role in ("ps", "worker"):
            for index, address in enumerate(addresses[role]):
                print(f"{role} {index} at {address}")
                tasks[role, index] = subprocess.Popen(
                    # The same as "tfw2v task". It exits with this process, even if that is killed.
                    [sys.executable, "-m", "gensim_tfw2v", "task", "--with-parent"],
                    env=os.environ | {"TF_CONFIG": tf_config(role, index)},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
        os.environ["TF_CONFIG"] = tf_config("chief", 0)
        yield
    finally:
        for task in tasks.values():
            task.terminate()
        for (role, index), task in tasks.items():
            task.communicate()
            print(f"{role} {index} exited")


def main() -> None:
    """Train skip-gram vectors on the Lee corpus as the chief of a cluster."""
    with running_tasks(free_addresses()):
        model = TFWord2Vec(
            LineSentence(datapath("lee_background.cor")),
            vector_size=50,
            sg=1,
            epochs=20,
            workers=1,  # threads of each worker task
            seed=1,
            cluster="TF_CONFIG",  # addresses from TF_CONFIG; waits until all tasks answer
        )
    for word in ("attacks", "government", "cricket"):
        neighbours = model.wv.most_similar(word, topn=5)
        print(
            f"{word}: " + ", ".join(f"{neighbour} {cosine:.2f}" for neighbour, cosine in neighbours)
        )


if __name__ == "__main__":
    main()
