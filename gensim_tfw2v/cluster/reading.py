"""What tasks do for who reads a corpus: they run helper processes on their machines.

A task publishes the name of a function of its own, which a graph calls by TensorFlow's ``PyFunc``.
What is asked, and what is answered, is JSON; texts, ids and words are in files that both see.
"""

from __future__ import annotations

import json
import os
import platform
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v.cluster.published import publish
from gensim_tfw2v.cluster.spec import Task
from gensim_tfw2v.corpus.helpers import ENDED_EARLY, MAX_HELPERS, running
from gensim_tfw2v.processes.machine import usable_cores

#: The name under which a task publishes that of its function.
NAME = "tfw2v-reader"


def publish_reader(server: Any, task: Task) -> Any:
    """Let a server's clients have `answer` called.

    Returns
    -------
    object
        The function can be called as long as this is kept.
    """
    from gensim_tfw2v._tensorflow import tf

    with tf.Graph().as_default() as graph:
        tf.numpy_function(
            lambda asked: np.bytes_(answer(bytes(asked))), [tf.constant("")], tf.string
        )
    (call,) = (node for node in graph.as_graph_def().node if node.op == "PyFunc")
    publish(server, task, NAME, call.attr["token"].s.decode())
    return graph


def answer(asked: bytes) -> bytes:
    """Do what is asked of this machine.

    Parameters
    ----------
    asked : bytes
        JSON: ``["look", folder, token, {path: size, ...}]`` or ``["run", folder, [part, ...]]``.

    Returns
    -------
    bytes
        JSON: of `look` or `run`; or ``{"failed": ...}``.
    """
    what, *arguments = json.loads(asked)
    try:
        done: Any = look(*arguments) if what == "look" else run(*arguments)
        return json.dumps(done).encode()
    except Exception:
        return json.dumps({"failed": traceback.format_exc()}).encode()


def look(folder: str, token: str, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Say whether files are seen here, on which machine, and how many helpers it should run.

    Parameters
    ----------
    folder : str
        In which helpers will write; a file of the name that `token` has is in it.
    token : str
    sizes : mapping from str to int
        Bytes of files that will be read.
    """
    for path, size in {os.path.join(folder, token): 0, **sizes}.items():
        try:
            found = os.path.getsize(path)
        except OSError as error:
            return {"missing": f"{path} ({error.strerror})"}
        if found != size:
            return {"missing": f"{path} (it has {found:,} bytes there, {size:,} here)"}
    if not os.access(folder, os.W_OK):
        return {"missing": f"{folder} (it cannot be written)"}
    return {"machine": machine(), "helpers": min(len(usable_cores()), MAX_HELPERS)}


def run(folder: str, parts: list[int]) -> list[dict[str, Any]]:
    """Run a helper for each of some parts of a job; give what they said at last.

    Raises
    ------
    RuntimeError
        If a helper was killed.
    """
    progress: dict[int, dict[str, Any]] = {}
    ends: list[dict[str, Any]] = []
    with running(Path(folder), parts) as messages:
        for message in messages:
            if "progress" in message:
                progress[message["progress"][0]] = message
                continue
            ends.append(message)
            if len(ends) == len(parts) or "done" not in message:
                return [*progress.values(), *ends]
    raise RuntimeError(ENDED_EARLY)


def machine() -> str:
    """Tells this machine, or container, from others."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = ""
    return f"{platform.node()} {boot}"
