"""All results of the documentation: ``python -m benchmarks.results CORPUS LARGE --eval FILE ...``.

A study is run only if it has no results of the kernels in the sources, so an interrupted command
can be repeated. While a study is running, it writes to a temporary folder; its results replace the
earlier ones when it has finished. At the end, the command prints when and with which kernels each
study was run.
"""

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gensim.test.utils import datapath

from benchmarks.command import existing_file, shared_parser
from benchmarks.graphs.option import GRAPHS_OPTION
from benchmarks.graphs.records import Task
from benchmarks.machine import ROOT, cpu_model, version
from benchmarks.report import notice, table
from gensim_tfw2v.kernel.native import by_ctypes

#: Folder of the results.
RESULTS = ROOT / "docs/benchmarks"

#: Folder for incomplete results, and for records of single training runs of the grids of options.
PARTIAL = ROOT / "runs/results"


class Study(NamedTuple):
    """A command that writes NAME.json and NAME.md.

    In its arguments, ``{corpus}``, ``{large}`` and ``{lee}`` are texts, ``{records}`` is the folder
    of the grids' training runs, and ``{pairs}`` and ``{graphs}`` stand for the options ``--eval``
    and ``--graphs`` with their values.
    """

    name: str
    command: str
    minutes: float  # approximate time on two cores
    needs: str = ""  # packages to be installed, separated by blanks
    kernel: str = ""  # instruction set of the kernel to train with; by default the processor's best
    maker: str = ""  # of the processor, as its name begins, if the study compares processors


# Packages, command lines and options that several studies below use.
PEERS = "fasttext-numpy2 pyspark"
CLIENTS = "fastnode2vec node2vec karateclub wefe scattertext"
NODE2VEC_TOOLS = "pecanpy fastnode2vec karateclub pycleora"
SPEED = (
    "compare {corpus} --settings cbow100,cbow300,cbowhs100,sg100,sg300,sghs100 --epochs 1 "
    "--seeds 3 --iterable-rounds 0 --no-quality"
)
SPEED_65M = "compare {large} --settings cbow100,sg100 --epochs 1 --iterable-rounds 0 {pairs}"
KERNELS = "kernels {corpus} --rounds 2"
GRID = "options {corpus} --processes 2 --records {records}"
MERGINGS = ("concat", "pca", "alir")
CLUSTER = "cluster=local:ps=2,worker=4"
REGIMES = ("", " regime=synchronous", " regime=downpour:n_fetch=32", " deterministic=True")

STUDIES = (
    Study("speed", SPEED, 16, kernel="avx2"),
    Study("speed-65m", SPEED_65M, 18, kernel="avx2"),
    Study("speed-avx512", f"{SPEED} --kernel avx2", 18, kernel="avx512"),
    Study("speed-65m-avx512", f"{SPEED_65M} --kernel avx2", 20, kernel="avx512bf16"),
    Study("kernels", KERNELS, 25, maker="Intel"),
    Study("kernels-amd", KERNELS, 25, maker="AMD"),
    Study("threads", "threads {corpus}", 30),
    Study("slowdowns", "slowdowns {corpus}", 30),
    Study("options", GRID, 90),
    Study("options-cluster", f"{GRID} --place cluster --first 30", 10),
    Study("options-graph", f"{GRID} --place graph --first 30", 15),
    Study(
        "scaling",
        "scaling {corpus} --epochs 3 --words 1e9 --workers 1,2,4,8,16,32,64,128,256 --rounds 4",
        12,
        "matplotlib",
    ),
    Study("links", "links {corpus} --rounds 2", 12),
    Study(
        "regimes",
        "compare {corpus} --iterable-rounds 0 {pairs} "
        + " ".join(f"--also '{CLUSTER}{regime}'" for regime in REGIMES)
        + " ".join(f" --also 'regime=submodels:models=5,merging={method}'" for method in MERGINGS),
        45,
    ),
    Study(
        "workers",
        "compare {corpus} --settings sg100,cbow100 --epochs 1 --iterable-rounds 0 {pairs} --also "
        f"deterministic=True --also {CLUSTER} --also '{CLUSTER} deterministic=True' "
        "--also cluster=local:ps=2,worker=32",
        15,
    ),
    Study("peers", "peers {corpus} --seeds 2 {pairs}", 56, PEERS),
    Study(
        "peers-time",
        "peers {corpus} --only 'gensim corpus_file' TFWord2Vec --time-to-quality {pairs}",
        49,
    ),
    Study("peers-cbow", "peers {corpus} --only 'gensim corpus_file' TFWord2Vec --sg 0 {pairs}", 7),
    Study(
        "fasttext",
        "compare {corpus} --settings sg100,cbow100 --iterable-rounds 0 {pairs} --reference "
        "gensim.models:FastText --candidate gensim_tfw2v:TFFastText "
        "--also cluster=local:ps=2,worker=2",
        54,
    ),
    Study(
        "doc2vec",
        "compare {corpus} --settings dbow100,dm100 --seeds 2 --iterable-rounds 0 --kernel avx2 "
        "--reference gensim.models:Doc2Vec --candidate gensim_tfw2v:TFDoc2Vec",
        8,
    ),
    Study("online", "online {corpus} {pairs}", 8),
    Study("clients", "clients", 14, CLIENTS),
    Study("graphs", "graphs {graphs} --seeds 3", 110, NODE2VEC_TOOLS),
    Study("vocabularies", "vocabularies", 10),
    Study("sandblaster", "sandblaster {lee}", 2, "matplotlib"),
)


def document_of(study: str) -> dict[str, Any] | None:
    """Return a study's results with its name; None if it has never been run."""
    path = RESULTS / f"{study}.json"
    if not path.is_file():
        return None
    return {"name": study} | json.loads(path.read_text(encoding="utf-8"))


def is_current(document: Mapping[str, Any] | None) -> bool:
    """Return whether a study has results, and they are of the kernels in the sources."""
    return document is not None and not notice(document)


def overview() -> str:
    """Return a table of the studies: when, and with which kernels, each was run."""
    rows = []
    for study in STUDIES:
        document = document_of(study.name) or {}
        machine = document.get("machine", {})
        minutes = document.get("minutes", study.minutes)
        row = [study.name, f"{minutes:.0f}", document.get("date", "never")]
        row += [machine.get("commit", ""), machine.get("isa", ""), machine.get("cpu", "")]
        rows.append([*row, "yes" if is_current(document or None) else "no"])
    head = ["study", "minutes", "date", "commit", "kernels", "processor", "current"]
    return table(head, rows)


def arguments(study: Study, args: argparse.Namespace) -> list[str]:
    """Return the arguments of the Python interpreter that run a study."""
    texts = {
        "corpus": args.corpus,
        "large": args.large,
        "lee": datapath("lee_background.cor"),
        "records": PARTIAL / "options",
    }
    placeholders = {name: shlex.quote(str(path)) for name, path in texts.items()}
    placeholders["pairs"] = shlex.join(["--eval", *map(str, args.eval)]) if args.eval else ""
    placeholders["graphs"] = shlex.join(graphs_option(args.graphs))
    module, *options = shlex.split(study.command.format(**placeholders))
    name_option = [] if module == study.name else ["--name", study.name]
    return ["-m", f"benchmarks.{module}", *options, "--out", str(PARTIAL), *name_option]


def graphs_option(tasks: Sequence[Task]) -> list[str]:
    """Return the option ``--graphs`` with its values; [] without graphs."""
    values = [str(value) for task in tasks for value in (task.edges, task.labels, task.p, task.q)]
    return ["--graphs", *values] if values else []


def describe_lack(study: Study, args: argparse.Namespace) -> str | None:
    """Return what a study needs and lacks, such as packages or an option; None if it can run."""
    if absent := [package for package in study.needs.split() if version(package) is None]:
        return f"pip install {' '.join(absent)}"
    if "{graphs}" in study.command and not args.graphs:
        return "--graphs EDGES LABELS P Q"
    if study.kernel and study.kernel not in by_ctypes.kernel_names():
        return f"a processor that can use the kernel {study.kernel}"
    if not cpu_model().startswith(study.maker):
        return f"a processor of {study.maker}"
    return None


def run(study: Study, args: argparse.Namespace) -> bool:
    """Run a study, and replace its earlier results; return False if it failed."""
    start = time.monotonic()
    command = [sys.executable, *arguments(study, args)]
    environment = os.environ | ({"TFW2V_ISA": study.kernel} if study.kernel else {})
    if status := subprocess.run(command, cwd=ROOT, env=environment).returncode:
        print(f"{study.name} failed with status {status}: {shlex.join(command)}", flush=True)
        return False
    path = PARTIAL / f"{study.name}.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["minutes"] = round((time.monotonic() - start) / 60, 1)
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    for result_file in [path, path.with_suffix(".md"), *PARTIAL.glob(f"{study.name}*.svg")]:
        shutil.move(result_file, RESULTS / result_file.name)
    return True


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    argument_parser = shared_parser("benchmarks.results", __doc__, "corpus", "--eval")
    add = argument_parser.add_argument
    add("large", type=existing_file, help="a larger text, for the quality of vectors")
    add("--graphs", **GRAPHS_OPTION)
    add("--only", nargs="+", choices=[study.name for study in STUDIES], metavar="STUDY",
        help="studies to run (all)")  # fmt: skip
    return argument_parser


def main() -> None:
    """Run the studies that have no current results, and print an overview."""
    args = parser().parse_args()
    studies = [study for study in STUDIES if args.only is None or study.name in args.only]
    outdated = [study for study in studies if not is_current(document_of(study.name))]
    PARTIAL.mkdir(parents=True, exist_ok=True)
    not_run = []
    for index, study in enumerate(outdated):
        hours = sum(later_study.minutes for later_study in outdated[index:]) / 60
        print(
            f"\n{index + 1}/{len(outdated)} {study.name}: about {study.minutes:.0f} minutes; all "
            f"that is left: {hours:.1f} hours",
            flush=True,
        )
        if lack := describe_lack(study, args):
            print(f"not run; it needs: {lack}", flush=True)
            not_run.append(study.name)
        elif not run(study, args):
            not_run.append(study.name)
    print(f"\n{overview()}")
    if not_run:
        raise SystemExit(f"not run: {', '.join(not_run)}")


if __name__ == "__main__":
    main()
