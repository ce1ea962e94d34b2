"""Speed over slow links: ``python -m benchmarks.links CORPUS --out FOLDER`` (Linux, as root).

Trains on 2 ps and 4 workers, each on a host of its own with a limited link. The hosts are network
namespaces of this machine, and share its cores. Each round also measures the speed without limits.
From that speed and the counted bytes, the formulas of `gensim_tfw2v.planning` predict the speeds
with limits.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.command import at_least, net, shared_parser
from benchmarks.links.switch import SlowHosts, why_not
from benchmarks.report import begin, bullet_list, facts, page, table, write
from gensim_tfw2v.planning.speed import Machines, link_limit, transfer_seconds
from tests.cluster.hosts import HostCluster

PS = 2  # number of ps tasks
WORKERS = 4  # number of worker tasks
UNLIMITED = 1e10  # rate in bytes/s of links that do not limit training
MAX_SECONDS = 3600  # time limit of a training run

#: Program of the chief. It prints the speed of the last epoch, and the bytes per token that workers
#: fetched and pushed in all epochs.
TRAIN = """
import json, sys
from gensim_tfw2v import TFWord2Vec

if __name__ == "__main__":
    options = json.loads(sys.argv[1])
    model = TFWord2Vec(**options, cluster="TF_CONFIG", progress=False)
    traffic, words = model.traffic, model.corpus_total_words
    last = traffic.jobs[-(len(traffic.jobs) // model.epochs):]
    seconds = max(job.times[-1] for job in last) - min(job.times[0] for job in last)
    print(json.dumps({
        "words_per_second": words / seconds,
        "words": words,
        "words_per_job": words / len(last),
        "fetched": traffic.fetched_bytes / traffic.tokens,
        "pushed": traffic.pushed_bytes / traffic.tokens,
        "kept": traffic.tokens / model.epochs / words,
    }), flush=True)
"""


def measure(options: dict[str, Any], rate: float, latency: float) -> dict[str, float]:
    """Train once over links of `rate` bytes/s and a round-trip time of `latency` seconds."""
    ps, workers = (
        [f"{role}{i}" for i in range(n)] for role, n in (("ps", PS), ("worker", WORKERS))
    )
    hosts = SlowHosts("chief", *ps, *workers, rate=rate, latency=latency)
    with hosts, tempfile.TemporaryDirectory() as folder:
        cluster = HostCluster(hosts, ps, workers, Path(folder))
        measurement = cluster.train(TRAIN, json.dumps(options)).hear(MAX_SECONDS)
        if measurement is None:
            raise RuntimeError(f"the training failed:\n{cluster.log()[-3000:]}")
        return dict(measurement)


def predict(unlimited: dict[str, float], threads: int, rate: float, latency: float) -> float:
    """Predict the words/s over limited links; `unlimited` was measured without limits."""
    machines = Machines(WORKERS, PS, threads, rate, latency)
    tokens = unlimited["kept"] * unlimited["words_per_job"]
    traffic = tokens * (unlimited["fetched"] + unlimited["pushed"])
    waiting_seconds = sum(transfer_seconds(traffic, machines))
    computing_seconds = unlimited["words_per_job"] * WORKERS / unlimited["words_per_second"]
    worker_speed = unlimited["words_per_job"] / (computing_seconds + waiting_seconds)
    word_bytes = unlimited["kept"] * max(unlimited["fetched"], unlimited["pushed"])
    return WORKERS * min(worker_speed, link_limit(word_bytes, machines, PS))


def study(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Run the study; after each training run over a limited link, yield the document so far."""
    options = {
        "corpus_file": str(args.corpus.resolve()),
        "sg": args.sg,
        "vector_size": args.vector_size,
        "epochs": 2,
        "workers": args.threads,
        "wire": args.wire,
    }
    document = begin(args.corpus) | {"options": options, "runs": []}
    for round_number in range(args.rounds):
        unlimited = measure(options, UNLIMITED, 0.0)
        document["corpus"]["words"] = unlimited["words"]
        links = [(rate, args.latency[0]) for rate in args.net]
        links += [(args.net[-1], latency) for latency in args.latency[1:]]
        for rate, latency in links:
            measurement = measure(options, rate, latency / 1e3)
            expected = predict(unlimited, args.threads, rate, latency / 1e3)
            run = {"round": round_number, "rate": rate, "latency": latency, "alone": unlimited}
            document["runs"].append(run | {"found": measurement, "predicted": expected})
            print(
                f"{8 * rate / 1e6:g} Mbit/s, {latency:g} ms: {measurement}, "
                f"predicted {expected:,.0f}"
            )
            yield document


QUESTION = """\
How much slower is a cluster on a slow network, and does `tfw2v plan` predict it? All tasks share
the cores of one machine, so compare these speeds only with each other."""

METHOD = """\
{ps} ps and {workers} workers trained with {options}. Each task had a host of its own with a limited
link; the hosts are network namespaces of one machine, and share its cores. Each round also measured
the speed without limits. From that speed and the counted bytes, the formulas of
`gensim_tfw2v.planning` predicted the speeds with limits. Figures are medians over {rounds} rounds.
"""

COLUMNS = {
    "link of each host": "bandwidth, and round-trip time",
    "words/s, measured": "raw words of the text per second in the last epoch",
    "words/s, predicted": "by the formulas",
    "words/s, without limits": "measured in the same rounds",
    "error": "of the prediction; in parentheses the range over the rounds",
    "bytes per token": "bytes that workers fetched and pushed per word after subsampling",
}


def answer(links: Mapping[tuple[float, float], Sequence[Mapping[str, Any]]]) -> list[str]:
    """Return sentences on the speed over the links, and on the errors of the predictions."""
    shares = {
        link_name(link): median(
            run["found"]["words_per_second"] / run["alone"]["words_per_second"] for run in runs
        )
        for link, runs in links.items()
    }
    errors = {link_name(link): median(map(error, runs)) for link, runs in links.items()}
    low, high = (pick(errors, key=errors.__getitem__) for pick in (min, max))
    speeds = "; ".join(f"{share:.0%} with {name}" for name, share in shares.items())
    return [
        f"The cluster reached these shares of its speed without limits: {speeds}. "
        f"The predictions differ from the measured speeds by {errors[low]:+.0%} ({low}) to "
        f"{errors[high]:+.0%} ({high}).",
    ]


def link_name(link: tuple[float, float]) -> str:
    """Describe a link by its bandwidth and its round-trip time."""
    return f"{8 * link[0] / 1e6:,.0f} Mbit/s, {link[1]:g} ms"


def error(run: Mapping[str, Any]) -> float:
    """Return the relative error of a run's prediction."""
    return float(run["predicted"] / run["found"]["words_per_second"] - 1)


def markdown(document: Mapping[str, Any]) -> str:
    """Return the page for a document."""
    links: dict[tuple[float, float], list[Mapping[str, Any]]] = {}
    for run in document["runs"]:
        links.setdefault((run["rate"], run["latency"]), []).append(run)
    rows = []
    for link, runs in links.items():
        measured, alone = (
            median(run[kind]["words_per_second"] for run in runs) for kind in ("found", "alone")
        )
        errors = [error(run) for run in runs]
        speeds = measured, median(run["predicted"] for run in runs), alone
        found = runs[0]["found"]
        rows.append(
            [
                link_name(link),
                *(f"{speed / 1e6:.3f} M" for speed in speeds),
                f"{median(errors):+.0%} ({min(errors):+.0%} to {max(errors):+.0%})",
                f"{found['fetched'] + found['pushed']:.0f}",
            ]
        )
    options = [f"`{k}={v}`" for k, v in document["options"].items() if k != "corpus_file"]
    rounds = len({run["round"] for run in document["runs"]})
    return page(
        "Slow links",
        QUESTION,
        METHOD.format(ps=PS, workers=WORKERS, options=", ".join(options), rounds=rounds).strip(),
        answer(links),
        table([*COLUMNS], rows),
        bullet_list(COLUMNS),
        facts(document),
    )


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    shared = "corpus", "--out", "--name", "--vector-size", "--sg"
    argument_parser = shared_parser("benchmarks.links", __doc__, *shared)
    argument_parser.set_defaults(name="links")
    add = argument_parser.add_argument
    add("--rounds", type=at_least(1), default=1, help="number of runs of each link (1)")
    add("--threads", type=at_least(1), default=1, help="threads per worker (1)")
    add("--wire", default="int8", help="type in which rows are sent (int8)")
    add("--net", type=net, nargs="+", default=[6.25e6, 25e6, 125e6],
        help="rates of links, each with the first latency (50Mbit 200Mbit 1Gbit)")  # fmt: skip
    add("--latency", type=float, nargs="+", default=[0.2, 2.0, 20.0],
        help="round-trip times in ms, each with the last rate (0.2 2 20)")  # fmt: skip
    return argument_parser


def main(argv: list[str] | None = None) -> None:
    """Run the study, and write its results after each training run."""
    argument_parser = parser()
    args = argument_parser.parse_args(argv)
    if reason := why_not():
        argument_parser.error(reason)
    for document in study(args):
        write(args.out / args.name, document, markdown(document))


if __name__ == "__main__":
    main()
