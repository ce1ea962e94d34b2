"""Trainings on hosts of their own, in network namespaces, and cuts of their links."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.faults.table import Fault
from benchmarks.faults.training import FaultyTraining
from tests.cluster.hosts import HostCluster, Hosts, why_not

PS, WORKERS = ("ps0", "ps1"), ("worker0", "worker1")

#: Seconds that a link is cut, from and to: below those after which a host is given up.
CUT_SECONDS = (1.0, 25.0)


def why_no_links() -> str:
    """Why there can be no links here; empty if there can."""
    return str(why_not())


class LinkedTraining(FaultyTraining):
    """A training on two ps and two workers, with one host for each, and one for the program.

    Parameters
    ----------
    hosts : Hosts
    folder, corpus, options, seconds
        As for `FaultyTraining`.
    """

    def __init__(
        self, hosts: Any, folder: Path, corpus: Path, options: dict[str, Any], seconds: float
    ) -> None:
        self.hosts = hosts
        cluster = HostCluster(hosts, PS, WORKERS, folder)
        super().__init__(
            folder,
            corpus,
            options,
            seconds,
            launcher=lambda command, **options: hosts.start("chief", *command, **options),
            environment={"TF_CONFIG": cluster.environment("chief", 0)["TF_CONFIG"]},
        )


@contextlib.contextmanager
def linked_training(
    folder: Path, corpus: Path, options: dict[str, Any], seconds: float
) -> Iterator[LinkedTraining]:
    """Make one, with its hosts, and end them."""
    with Hosts("chief", *PS, *WORKERS) as hosts:
        options = options | {"cluster": "TF_CONFIG"}
        with contextlib.closing(LinkedTraining(hosts, folder, corpus, options, seconds)) as made:
            yield made


def cut(*names: str) -> Fault:
    """No link to one of these hosts, for some seconds."""

    def strike(training: FaultyTraining, choose: random.Random) -> str:
        assert isinstance(training, LinkedTraining)
        name, seconds = choose.choice(names), choose.uniform(*CUT_SECONDS)
        training.hosts.plug(name, False)
        timer = threading.Timer(seconds, training.hosts.plug, (name, True))
        timer.daemon = True
        timer.start()
        return f"{name} for {seconds:.1f} s"

    return Fault("trained", strike)


#: Where network namespaces can be made.
LINK_FAULTS: dict[str, Fault] = {
    "cut ps": cut(*PS),
    "cut worker": cut(*WORKERS),
    "cut program": cut("chief"),
}
