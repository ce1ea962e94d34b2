"""Links between the tasks of a cluster: their figures, the file with them, and the slow ones."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from gensim_tfw2v.cluster.spec import Cluster, Role, Task
from gensim_tfw2v.files.atomic import save_atomically
from gensim_tfw2v.messages import quoted, strict_json

#: A link is slow if its bandwidth is this many times lower than the median, or its round-trip time
#: this many times longer.
SLOW_FACTOR = 3.0

#: Round-trip times up to this many seconds are not slow, because training in rows hardly notices
#: them.
SHORT_ROUND_TRIP = 2e-3

#: Bytes whose transfer time compares links: what a worker transfers in one round trip.
TRANSFER_BYTES = 3e6

#: Names of the two ends of a link in a file.
_END = re.compile(r"(coordinator)|(ps|worker) ([0-9]{1,9})")

#: Number of bits per second in a Mbit/s, divided by the bits of a byte.
_MBIT_BYTES = 1e6 / 8


class LinksFileError(ValueError):
    """File that does not contain the figures of links."""


class TaskLink(NamedTuple):
    """Link between two tasks that exchange data during training, and its figures.

    Attributes
    ----------
    source, target : Task
        The two tasks. The source is the coordinator (chief) or a worker.
    sent_rate, received_rate : float
        Bytes/s from the source to the target, and back; NaN if the link is blocked.
    round_trip : float
        Round-trip time in seconds; NaN if the link is blocked.
    problem : str
        Reason why the link is blocked; otherwise empty.
    """

    source: Task
    target: Task
    sent_rate: float = math.nan
    received_rate: float = math.nan
    round_trip: float = math.nan
    problem: str = ""

    def __str__(self) -> str:
        return f"{task_name(self.source)} - {task_name(self.target)}"

    @property
    def rate(self) -> float:
        """Bytes/s in the slower direction."""
        return min(self.sent_rate, self.received_rate)

    @property
    def transfer_seconds(self) -> float:
        """Seconds in which `TRANSFER_BYTES` arrive in the slower direction."""
        return self.round_trip + TRANSFER_BYTES / self.rate


def task_name(task: Task) -> str:
    """Return the name of a task for users: "coordinator", "ps 0", "worker 1"."""
    return "coordinator" if task.role == "chief" else f"{task.role} {task.index}"


def task_pairs(cluster: Cluster) -> Iterator[tuple[Task, Task]]:
    """Yield the source and the target of each link that training uses.

    The coordinator is linked to all other tasks, and each worker to each ps.
    """
    coordinator = Task("chief", 0, cluster.chief or "")
    servers = cluster.servers()
    for task in servers:
        yield coordinator, task
    for worker in servers:
        for ps in servers:
            if (worker.role, ps.role) == ("worker", "ps"):
                yield worker, ps


def describe_slow_links(links: Sequence[TaskLink]) -> list[str]:
    """Return a remark for each link: how far it is from the median, or why it is blocked.

    The remark is empty if the link is neither slow nor blocked. The coordinator's links are
    compared with each other, because its figures include the time to pack and unpack a message.
    """
    remarks = []
    for link in links:
        if link.problem:
            remarks.append(f"blocked: {link.problem}")
            continue
        peers = [peer for peer in links if peer.source.role == link.source.role]
        peers = [peer for peer in peers if not peer.problem]
        rate_factor = median(peer.rate for peer in peers) / link.rate
        trip_factor = link.round_trip / median(peer.round_trip for peer in peers)
        reasons = []
        if rate_factor >= SLOW_FACTOR:
            reasons.append(f"slow: {rate_factor:,.0f} times less than the median")
        if trip_factor >= SLOW_FACTOR and link.round_trip > SHORT_ROUND_TRIP:
            reasons.append(f"far: {trip_factor:,.0f} times the median round trip")
        remarks.append(", ".join(reasons))
    return remarks


def worst_link(links: Iterable[TaskLink]) -> TaskLink | None:
    """Return the link over which a transfer takes longest, except blocked ones."""
    working = [link for link in links if not link.problem]
    return max(working, key=lambda link: link.transfer_seconds, default=None)


def write_links(path: Path, links: Iterable[TaskLink]) -> None:
    """Write links to a file as JSON, for `read_links`."""
    items = [
        {
            "from": task_name(link.source),
            "to": task_name(link.target),
            "from_address": link.source.address,
            "to_address": link.target.address,
            "mbit_per_second": _figure(link.sent_rate / _MBIT_BYTES),
            "mbit_per_second_back": _figure(link.received_rate / _MBIT_BYTES),
            "round_trip_ms": _figure(1e3 * link.round_trip),
            "problem": link.problem,
        }
        for link in links
    ]
    content = (json.dumps({"links": items}, indent=2) + "\n").encode()

    def write(target: Any) -> None:
        if isinstance(target, str):
            Path(target).write_bytes(content)
        else:  # an open file, because the path is a device or a pipe
            target.write(content)

    save_atomically(path, write)


def _figure(value: float) -> float | None:
    """Return a number for JSON, which has no NaN, with enough digits for a plan."""
    return None if math.isnan(value) else float(f"{value:.4g}")


def read_links(path: Path) -> list[TaskLink]:
    """Read the links that `write_links` has written.

    Raises
    ------
    LinksFileError
        If the file has different contents.
    """
    try:
        items = strict_json(path.read_bytes())["links"]
        return [_parse_link(item) for item in items]
    except (KeyError, TypeError, ValueError) as error:
        reason = f"{quoted(error.args[0])} is missing" if isinstance(error, KeyError) else error
        raise LinksFileError(
            f"{path}: is not a file of links ({reason}); give one that tfw2v cluster check "
            "--output has written"
        ) from error


def _parse_link(item: Any) -> TaskLink:
    sent_rate = _MBIT_BYTES * _parse_figure(item, "mbit_per_second")
    received_rate = _MBIT_BYTES * _parse_figure(item, "mbit_per_second_back")
    round_trip = 1e-3 * _parse_figure(item, "round_trip_ms")
    source = _parse_end(item["from"], str(item["from_address"]))
    target = _parse_end(item["to"], str(item["to_address"]))
    return TaskLink(source, target, sent_rate, received_rate, round_trip, str(item["problem"]))


def _parse_figure(item: Any, name: str) -> float:
    value = item[name]
    if value is None and item["problem"]:
        return math.nan
    if type(value) not in (int, float) or not value > 0:
        raise ValueError(f"{name} is {quoted(value)}")
    return float(value)


def _parse_end(name: Any, address: str) -> Task:
    end = _END.fullmatch(name)
    if not end:
        raise ValueError(f"{quoted(name)} is no task")
    if end[1]:
        return Task("chief", 0, address)
    role: Role = "ps" if end[2] == "ps" else "worker"
    return Task(role, int(end[3]), address)
