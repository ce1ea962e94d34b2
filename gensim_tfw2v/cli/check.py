"""``tfw2v cluster check`` measures each link of a cluster before training."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Console
from rich.table import Column, Table

from gensim_tfw2v.cli.common import Hosts, Terminated, Verbose, fail, option, print_rows
from gensim_tfw2v.cli.model_files import check_can_save
from gensim_tfw2v.messages import require
from gensim_tfw2v.monitor.progress import progress_bar

if TYPE_CHECKING:
    from gensim_tfw2v.cluster.links import TaskLink

#: Width of the table in columns, so that remarks are not wrapped.
TABLE_WIDTH = 160


def check(
    hosts: Hosts = None,
    output: Annotated[
        Path | None,
        option("Where to save the figures, for tfw2v plan --links (JSON).", "--output", "-o"),
    ] = None,
    seconds: Annotated[float, option("Seconds to wait for all tasks.", min=0.1)] = 10.0,
    verbose: Verbose = False,
) -> None:
    """Measure bandwidth and round-trip time of each link that training uses.

    The cluster is that of --hosts or TF_CONFIG. Its tasks must be running, but not training. To
    start them for the check: tfw2v cluster ssh --hosts FILE -- cluster check. The exit status is
    1 if a link is blocked.
    """
    require("tfw2v cluster", "tensorflow")
    if output is not None:
        check_can_save(output)

    from gensim_tfw2v.cluster.descriptions import from_tf_config, read_hosts
    from gensim_tfw2v.cluster.link_check import measure_links
    from gensim_tfw2v.cluster.links import task_pairs, write_links

    cluster = read_hosts(hosts) if hosts else from_tf_config(os.environ)[0]
    n_links = len(list(task_pairs(cluster)))
    links: list[TaskLink] = []
    try:
        with progress_bar("links", None, total=n_links) as bar:
            for link in measure_links(cluster, seconds):
                links.append(link)
                bar.update()
    except (KeyboardInterrupt, Terminated):
        _print_links(links)
        raise
    _print_links(links)
    if output is not None:
        write_links(output, links)
        print_rows([], [output])
    if problems := [link.problem for link in links if link.problem]:
        reasons = "; ".join(dict.fromkeys(problems))
        fail(f"{len(problems)} of {n_links} links are blocked: {reasons}", status=1)


def _print_links(links: Sequence[TaskLink]) -> None:
    """Print a table of links, and the worst one."""
    from gensim_tfw2v.cluster.links import describe_slow_links, task_name, worst_link

    if not links:
        return
    figures = ("Mbit/s", "Mbit/s back", "round trip")
    table = Table(
        "from",
        "to",
        *(Column(name, justify="right", no_wrap=True) for name in figures),
        Column("remark", overflow="fold"),
        box=None,
        pad_edge=False,
    )
    for link, remark in zip(links, describe_slow_links(links), strict=True):
        table.add_row(
            task_name(link.source),
            task_name(link.target),
            _megabits(link.sent_rate),
            _megabits(link.received_rate),
            _milliseconds(link.round_trip),
            remark,
        )
    Console(highlight=False, markup=False, width=TABLE_WIDTH).print(table)
    if worst := worst_link(links):
        figures_of_worst = f"{_megabits(worst.rate)} Mbit/s, {_milliseconds(worst.round_trip)}"
        print_rows([("slowest", f"{worst}: {figures_of_worst}")])


def _megabits(rate: float) -> str:
    megabits = 8e-6 * rate
    if math.isnan(megabits):
        return "-"
    return f"{megabits:,.0f}" if megabits >= 100 else f"{megabits:.1f}"


def _milliseconds(seconds: float) -> str:
    return "-" if math.isnan(seconds) else f"{1e3 * seconds:.1f} ms"
