"""Study of node2vec tools: options, F1 scores, the page, and small real runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.graphs import __main__ as command
from benchmarks.graphs.__main__ import jobs, main, parser
from benchmarks.graphs.bench import walk_seconds
from benchmarks.graphs.evaluate import evaluate_file
from benchmarks.graphs.page import markdown
from benchmarks.graphs.records import GraphRun, Task
from benchmarks.graphs.tools import OPTIONS, REFERENCE, TOOLS, Tool
from benchmarks.machine import describe

N_BLOCKS, BLOCK_SIZE = 3, 20


@pytest.fixture(scope="module")
def blocks(tmp_path_factory) -> Task:
    """Graph of three dense blocks with few edges between them; a node's label is its block."""
    folder = tmp_path_factory.mktemp("blocks")
    random = np.random.default_rng(1)
    n_nodes = N_BLOCKS * BLOCK_SIZE
    block = np.arange(n_nodes) // BLOCK_SIZE
    chance = np.where(block[:, None] == block, 0.4, 0.02)
    heads, tails = np.nonzero(np.triu(random.random((n_nodes, n_nodes)) < chance, 1))
    edges, labels = folder / "blocks.edg", folder / "blocks.labels.tsv"
    lines = [f"n{a}\tn{b}\n" for a, b in zip(heads, tails, strict=True)]
    edges.write_text("".join(lines))
    labels.write_text("".join(f"n{node}\tblock{block[node]}\n" for node in range(n_nodes)))
    return Task(edges, labels, 0.5, 2)


def words(task: Task) -> list[str]:
    return [str(task.edges), str(task.labels), f"{task.p}", f"{task.q}"]


# options


def test_graphs_option_reads_groups_of_files_and_numbers(blocks: Task) -> None:
    args = parser().parse_args(["--out", ".", "--graphs", *words(blocks), *words(blocks)])
    assert args.graphs == [blocks, blocks]
    assert blocks.name == "blocks, p=0.5, q=2"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda words: words[:3], "not EDGES LABELS P Q"),
        (lambda words: ["no-such-file", *words[1:]], "no such file: no-such-file"),
        (lambda words: [*words[:3], "two"], "p or q is not a number"),
        (lambda words: [*words[:3], "0"], "p and q must be positive, not 0.5 and 0"),
    ],
    ids=["three words", "file", "number", "zero"],
)
def test_invalid_graphs_option_exits_with_a_message(
    change, message: str, blocks: Task, capsys
) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["--out", ".", "--graphs", *change(words(blocks))])
    assert message in capsys.readouterr().err


def test_task_describes_nodes_edges_and_weights(tmp_path: Path) -> None:
    (tmp_path / "a.edg").write_text("x\ty\t2.5\ny\tz\t1\nx\tx\t3\n")
    task = Task(tmp_path / "a.edg", tmp_path / "a.tsv", 1, 1)
    assert task.describe() == {"nodes": 3, "edges": 3, "weighted": True}


def test_tools_rotate_through_the_rounds_of_a_graph(blocks: Task) -> None:
    tools = [Tool(name, "", (), ()) for name in "abc"]
    plan = list(jobs(tools, [blocks], rounds=2, first_seed=4))
    assert [(job.tool.name, job.round, job.seed) for job in plan] == [
        *(("a", 0, 4), ("b", 0, 4), ("c", 0, 4)),
        *(("b", 1, 5), ("c", 1, 5), ("a", 1, 5)),
    ]


def test_unknown_or_absent_tools_are_reported(blocks: Task, monkeypatch) -> None:
    with pytest.raises(SystemExit, match="--only node2vec: no such tool"):
        main(["--out", ".", "--only", "node2vec"])
    monkeypatch.setattr(command, "TOOLS", (Tool("absent", "", ("no_such_module",), ()),))
    tools, left_out = command.choose_tools(None)
    assert not tools
    assert left_out["absent"].endswith("no module no_such_module; run: pip install no_such_module")


def test_walk_seconds_are_read_from_the_last_line() -> None:
    assert walk_seconds('so\n{"walk_seconds": 2.5}\n') == 2.5
    assert walk_seconds("so\n") is None and walk_seconds("") is None


# F1 scores


def test_f1_is_1_for_separated_labels_and_low_for_noise(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    labels = random.integers(4, size=300)
    noise = random.normal(size=(300, 8))
    separated = np.concatenate([20 * np.eye(4)[labels], noise], axis=1)
    (tmp_path / "labels.tsv").write_text("".join(f"n{i}\t{x}\n" for i, x in enumerate(labels)))

    def scores(rows: np.ndarray) -> dict:
        lines = [" ".join([f"n{i}", *map(str, row)]) for i, row in enumerate(rows.tolist())]
        text = "\n".join([f"{len(rows)} {rows.shape[1]}", *lines, ""])
        (tmp_path / "vectors").write_text(text)
        return evaluate_file(str(tmp_path / "vectors"), str(tmp_path / "labels.tsv"))

    best = scores(separated)
    assert best == {"vectors": 300, "quality": {"micro-F1": 1.0, "macro-F1": 1.0}}
    assert all(score < 0.4 for score in scores(noise)["quality"].values())
    assert scores(separated[:200])["vectors"] == 200


# page


def made_up(tool: str, number: int, seconds: float, score: float) -> GraphRun:
    return GraphRun(
        tool=tool,
        task="a, p=1, q=2",
        round=number,
        seed=number + 1,
        wall_seconds=seconds,
        cpu_seconds=2 * seconds,
        walk_seconds=seconds / 2 if tool == "quick" else None,
        peak_bytes=300 * 2**20,
        vectors=10,
        quality={"micro-F1": score, "macro-F1": score - 0.1},
    )


def cells(page: str, tool: str) -> list[str]:
    (row,) = re.findall(rf"^\| {re.escape(tool)} \|.*$", page, re.MULTILINE)
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_page_shows_time_memory_and_quality_of_each_tool() -> None:
    runs = [
        *(made_up(REFERENCE, 0, 30, 0.4), made_up(REFERENCE, 1, 60, 0.42)),
        *(made_up("quick", 0, 10, 0.41), made_up("quick", 1, 15, 0.43)),
        GraphRun("slow", "a, p=1, q=2", 0, 1, error="slow\ntook longer than 60 s:\n",
                 limit_seconds=60.0),
        GraphRun("broken", "a, p=1, q=2", 0, 1, error="broken\nended with exit code 1:\noh\nno"),
    ]  # fmt: skip
    document = {
        "date": "2025-01-31",
        "machine": describe(),
        "command": "python -m benchmarks.graphs --graphs a.edg a.tsv 1 2",
        "settings": {"num_walks": 10},
        "limit_minutes": 10.0,
        "graphs": {"a, p=1, q=2": {"nodes": 1000, "edges": 5000, "weighted": False}},
        "tools": {REFERENCE: "", "quick": "walks fast", "slow": "", "broken": ""},
        "left_out": {"absent": "run: pip install it"},
    }
    document["runs"] = [run.to_json() for run in runs]
    page = markdown(document)
    assert "stopped after 10 minutes" in page
    assert "1,000 nodes, 5,000 unweighted edges." in page
    row = cells(page, "quick")
    assert row[1:6] == ["12.5", "3.50 (3.00–4.00)", "6.2", "25.0", "300"]
    assert row[6:] == [".420 ± .010 (+.010)", ".320 ± .010 (+.010)"]
    assert cells(page, REFERENCE)[2:4] == ["1.00 (1.00–1.00)", "–"]
    assert cells(page, REFERENCE)[6] == ".410 ± .010"
    assert cells(page, "slow") == ["slow", "> 60", *["–"] * 6]
    assert cells(page, "broken") == ["broken", "failed", *["–"] * 6]
    assert "- broken on a, p=1, q=2: ended with exit code 1: no\n" in page
    assert "- absent: run: pip install it" in page and "- quick: walks fast" in page


# small real runs

#: Command that writes a vector per node: its row of the adjacency matrix.
ADJACENCY = """
import sys
import numpy as np
pairs = [line.split() for line in open(sys.argv[1])]
nodes = sorted({node for pair in pairs for node in pair})
matrix = np.zeros((len(nodes), len(nodes)))
for a, b in pairs:
    matrix[nodes.index(a), nodes.index(b)] = matrix[nodes.index(b), nodes.index(a)] = 1
with open(sys.argv[2], "w") as file:
    file.write(f"{len(nodes)} {len(nodes)}\\n")
    for node, row in zip(nodes, matrix):
        file.write(node + " " + " ".join(map(str, row)) + "\\n")
print('{"walk_seconds": 0.25}')
"""


def run_study(task: Task, folder: Path, *options: str) -> dict:
    small = ["--num-walks", "20", "--walk-length", "20", "--vector-size", "16", "--limit", "3"]
    main(["--graphs", *words(task), "--out", str(folder), "--no-pin", *small, *options])
    return json.loads((folder / "graphs.json").read_text())


def test_study_runs_each_round_and_skips_a_tool_after_its_failure(
    blocks: Task, tmp_path: Path, monkeypatch, capfd
) -> None:
    script = tmp_path / "adjacency.py"
    script.write_text(ADJACENCY)
    failing = tmp_path / "failing.py"
    failing.write_text("import sys; sys.exit(sys.argv[1] + ' is bad')")
    silent = tmp_path / "silent.py"
    silent.write_text("")
    paths = {"adjacency": script, "failing": failing, "silent": silent}
    tools = tuple(Tool(name, f"{path} {OPTIONS}", (), ()) for name, path in paths.items())
    monkeypatch.setattr(command, "TOOLS", tools)
    document = run_study(blocks, tmp_path, "--seeds", "2")
    found = [(run["tool"], run["round"]) for run in document["runs"]]
    assert sorted(found) == [("adjacency", 0), ("adjacency", 1), ("failing", 0), ("silent", 0)]
    for run in document["runs"]:
        if run["tool"] == "adjacency":
            assert run["vectors"] == N_BLOCKS * BLOCK_SIZE and run["walk_seconds"] == 0.25
            assert run["wall_seconds"] > 0 and run["peak_bytes"] > 10e6
            assert run["quality"]["micro-F1"] > 0.8
    errors = {run["tool"]: run["error"] for run in document["runs"]}
    assert errors["failing"].endswith("ended with exit code 1:\nEDGES is bad")
    assert errors["silent"].endswith("wrote no vectors")
    published = (tmp_path / "graphs.json").read_text() + (tmp_path / "graphs.md").read_text()
    assert str(blocks.edges.parent) not in published
    assert "--graphs blocks.edg blocks.labels.tsv 0.5 2 --seeds 2" in published
    assert "no ratios are computed without" in capfd.readouterr().out


def test_tool_over_the_time_limit_is_listed_with_it(
    blocks: Task, tmp_path: Path, monkeypatch
) -> None:
    script = tmp_path / "sleeping.py"
    script.write_text("import time; time.sleep(60)")
    monkeypatch.setattr(command, "TOOLS", (Tool("sleeping", f"{script} {OPTIONS}", (), ()),))
    document = run_study(blocks, tmp_path, "--limit", "0.02")
    (run,) = document["runs"]
    assert run["limit_seconds"] == pytest.approx(1.2)
    assert "| sleeping | > 1 |" in (tmp_path / "graphs.md").read_text()


def test_our_tools_find_the_blocks_of_a_graph(blocks: Task, tmp_path: Path) -> None:
    names = ["RandomWalks + gensim", "TFWord2Vec"]
    document = run_study(blocks, tmp_path, "--seeds", "1", "--only", *names)
    page = (tmp_path / "graphs.md").read_text()
    assert [run["tool"] for run in document["runs"]] == names
    for run in document["runs"]:
        assert run["error"] is None and run["vectors"] == N_BLOCKS * BLOCK_SIZE
        assert run["quality"]["micro-F1"] > 0.8 and run["quality"]["macro-F1"] > 0.8
        assert run["cpu_seconds"] > 0.2 and run["peak_bytes"] > 50e6
        row = cells(page, run["tool"])
        assert row[1] == f"{run['wall_seconds']:.1f}"
        assert row[6] == f"{run['quality']['micro-F1']:.3f}"


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS, ids=[tool.name for tool in TOOLS])
def test_installed_tool_finds_the_blocks_of_a_graph(
    tool: Tool, blocks: Task, tmp_path: Path
) -> None:
    if reason := tool.describe_absence():
        pytest.skip(reason)
    (run,) = run_study(blocks, tmp_path, "--seeds", "1", "--only", tool.name)["runs"]
    assert run["error"] is None and run["vectors"] == N_BLOCKS * BLOCK_SIZE
    assert run["quality"]["micro-F1"] > 0.8
