"""Benchmark of several tools: configuration, cost of commands, time to quality, small real runs."""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
from pathlib import Path

import pytest
from gensim.models import KeyedVectors
from gensim.test.utils import datapath

from benchmarks.machine import describe
from benchmarks.peers.__main__ import choose_peers, jobs, main, parser
from benchmarks.peers.bench import train_seconds
from benchmarks.peers.configured import SHIPPED, ConfigurationError, Peer, read
from benchmarks.peers.evaluate import count_words, in_order
from benchmarks.peers.page import markdown
from benchmarks.peers.records import PeerRun, Settings
from benchmarks.peers.time_to_quality import goal, time_to_goal
from benchmarks.process import CommandError, run
from benchmarks.records import REFERENCE

LEE = datapath("lee_background.cor")
WORDS = [word for word, count in count_words(LEE).items() if count >= 5]
BURN = """
import time
while time.process_time() < 0.6:
    pass
"""


def python(text: str) -> list[str]:
    return [sys.executable, "-c", text]


# cost of a command


def burning(how: str) -> list[str]:
    """Return a command whose child uses 0.6 s of CPU, while its main process runs `how`."""
    child = f"import subprocess, sys, time; p = subprocess.Popen([sys.executable, '-c', {BURN!r}])"
    return python(f"{child}\n{how}")


@pytest.mark.parametrize(
    "how",
    [
        pytest.param("p.wait()", id="waited for"),
        pytest.param("while p.poll() is None: time.sleep(0.01)", id="polled"),
        pytest.param(
            "import os; os._exit(0)",
            id="orphaned",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers"),
        ),
    ],
)
def test_cpu_seconds_of_children_are_counted(how: str) -> None:
    found = run(burning(how))
    assert 0.6 <= found.cpu_seconds < 2.5


def test_cpu_seconds_exclude_earlier_commands() -> None:
    run(python(BURN))
    assert run(python("pass")).cpu_seconds < 0.4


def test_peak_memory_sums_all_children() -> None:
    inner = "import sys; kept = bytearray(b'1') * 80_000_000; print('kept'); sys.stdin.read()"
    outer = (
        "import subprocess, sys, time\n"
        "pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        f"command = [sys.executable, '-u', '-c', {inner!r}]\n"
        "all = [subprocess.Popen(command, **pipes) for _ in range(2)]\n"
        "[one.stdout.readline() for one in all]\n"
        "time.sleep(1)\n"
        "[one.communicate() for one in all]"
    )
    assert run(python(outer)).peak_bytes > 160e6


def test_failing_command_error_shows_the_end_of_its_output() -> None:
    with pytest.raises(CommandError, match=r"(?s)raise SystemExit.*exit code 1:\nno luck"):
        run(python("raise SystemExit('no luck')"))
    with pytest.raises(CommandError, match="(?s)no-such-program.*could not be started"):
        run(["no-such-program"])


def test_command_over_its_limit_is_killed_with_its_children() -> None:
    text = "import subprocess, time; subprocess.Popen(['sleep', '77.25']); time.sleep(60)"
    began = time.monotonic()
    with pytest.raises(CommandError, match="took longer than 1 s"):
        run(python(text), limit=1)
    assert time.monotonic() - began < 8
    import psutil

    commands = [one.info["cmdline"] or [] for one in psutil.process_iter(["cmdline"])]
    assert not any("77.25" in command for command in commands)


# configuration


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_shipped_configuration_fills_the_commands() -> None:
    shipped = {peer.name: peer for peer in read(SHIPPED)}
    assert REFERENCE in shipped and len(shipped) == 7
    values = {**Settings().placeholders(), "python": "py", "corpus": "a b", "vectors": "v"}
    words = shipped["TFWord2Vec"].fill_in({**values, "seed": 7})
    assert words[:4] == ["py", "-m", "gensim_tfw2v", "train"]
    assert "a b" in words and "--sg" in words and words[words.index("--seed") + 1] == "7"
    assert shipped["Spark MLlib"].describe_mismatch(Settings(sg=0)) == "it needs sg=1"


def test_commented_examples_are_valid(tmp_path: Path) -> None:
    text = SHIPPED.read_text().split("added by a table each:\n")[1]
    peers = read(written(tmp_path, re.sub(r"^# ?", "", text, flags=re.MULTILINE)))
    assert [peer.name for peer in peers] == ["word2vec.c", "pWord2Vec"]
    assert peers[0].format == "binary"
    assert peers[0].describe_mismatch(Settings()) == "program ./word2vec not found"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a]\nformat = 'text'", "a: a tool is a table with a command"),
        ("[a]\ncommand = 'x {vectors} {size}'", r"unknown {size} \(known: .*vector_size"),
        ("[a]\ncommand = 'x'", "must write {vectors}"),
        ("[a]\ncommand = 'x {vectors}'\nfromat = 'text'", "unknown key fromat"),
        ("[a]\ncommand = 'x {vectors}'\nformat = 'npy'", "format must be one of text, binary"),
        ("[a]\ncommand = 'x {vectors}'\nmodules = 'y'", "modules must be a list"),
        ("[a]\ncommand = 'x {vectors}'\nonly = { hs = 1 }", "only contains unknown settings: hs"),
        ("[a]\ncommand = 'x {vectors} \"'", "command: No closing quotation"),
        ("[a]\ncommand = 'x {vectors} {alpha:d}'", "command: Unknown format code"),
        ("[a]\ncommand = 'x {vectors}'\nseconds = '[0-9]'", "seconds: has 0 groups"),
        ("[a]\ncommand = 'x {vectors}'\nseconds = '('", "seconds: missing"),
        ("[a\n", "mine.toml"),
    ],
)
def test_bad_configuration_raises(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read(written(tmp_path, text))


def test_tool_without_its_module_is_reported_with_the_fix() -> None:
    peer = Peer("x", "{python} {vectors}", modules=("no_such_module",))
    mismatch = peer.describe_mismatch(Settings())
    assert mismatch == "Python finds no module no_such_module; run: pip install '.[peers]'"
    assert Peer("x", "{python} {vectors}", modules=("json",)).describe_mismatch(Settings()) is None


def test_train_seconds_are_read_from_the_output() -> None:
    assert train_seconds(Peer("x", ""), 'so\n{"train_seconds": 2.5}\n') == 2.5
    assert train_seconds(Peer("x", ""), "so\n") is None
    assert train_seconds(Peer("x", ""), "3\n") is None
    assert train_seconds(Peer("x", "", seconds="took ([0-9.]+)"), "took 3.5 s") == 3.5
    assert train_seconds(Peer("x", "", seconds="took ([0-9.]+)"), "") is None


def test_own_file_overrides_a_shipped_tool(tmp_path: Path) -> None:
    mine = written(tmp_path, "[fastText]\ncommand = 'fasttext {corpus} {vectors}'")
    given = parser().parse_args([LEE, "--out", ".", "--peers", str(mine), "--only", "fastText"])
    assert choose_peers(given)["fastText"].command == "fasttext {corpus} {vectors}"
    given.only = ["fast"]
    with pytest.raises(SystemExit, match="--only fast: no such tool"):
        choose_peers(given)


# rounds, and time to quality


def test_tools_rotate_through_the_rounds() -> None:
    plan = list(jobs(["a", "b", "c"], rounds=3, first_seed=4, epochs=2, fewer_rounds=1))
    assert [(job.peer, job.epochs) for job in plan if job.round == 0] == [
        *(("a", 2), ("b", 2), ("c", 2)),
        *(("a", 1), ("b", 1), ("c", 1)),
    ]
    assert ["".join(job.peer for job in plan if job.round == n) for n in (1, 2)] == ["bca", "cab"]
    assert [job.seed for job in plan] == [4] * 6 + [5] * 3 + [6] * 3


def made_up(peer: str, number: int, epochs: int, seconds: float, score: float) -> PeerRun:
    return PeerRun(
        peer=peer,
        round=number,
        seed=number + 1,
        epochs=epochs,
        raw_words=1_000_000,
        wall_seconds=seconds,
        cpu_seconds=2 * seconds,
        peak_bytes=200 * 2**20,
        train_seconds=seconds / 2 if peer == "quick" else None,
        vocabulary=1234,
        quality={"WS353": score + 0.1, "analogies": score - 0.1, "analogies, all": 0.9},
    )


RUNS = [
    made_up(REFERENCE, 0, 3, 30.0, 0.58),
    made_up(REFERENCE, 1, 3, 60.0, 0.62),
    made_up(REFERENCE, 0, 2, 20.0, 0.50),
    made_up("quick", 0, 1, 2.0, 0.57),
    made_up("quick", 0, 2, 3.0, 0.57),
    made_up("quick", 1, 2, 5.0, 0.59),
    made_up("quick", 0, 3, 4.5, 0.7),
    made_up("bad", 0, 3, 1.0, 0.3),
    PeerRun("broken", 0, 1, 3, 1_000_000, error="broken --now\nended with exit code 1:\noh\nno"),
]


def test_time_to_quality_takes_the_quickest_good_run() -> None:
    aim = goal(RUNS)
    assert aim is not None
    assert aim.measures == ("WS353", "analogies")  # "analogies, all" does not count again
    assert aim.epochs == 3
    assert (aim.mean, aim.tolerance) == pytest.approx((0.60, 0.02))
    best = time_to_goal(RUNS, "quick", aim)
    assert best is not None and best.epochs == 2  # 1 epoch is quicker, and not good enough
    assert best.quality == pytest.approx(0.58)
    assert (best.seconds, best.ratios) == (4.0, (3 / 30, 5 / 60))
    own = time_to_goal(RUNS, REFERENCE, aim)
    assert own is not None and (own.epochs, own.ratios) == (3, (1.0, 1.0))
    assert time_to_goal(RUNS, "bad", aim) is None
    assert goal([one for one in RUNS if one.peer != REFERENCE]) is None


def test_measure_missing_in_one_run_is_ignored() -> None:
    without = made_up("x", 0, 1, 1.0, 0.5)
    without.quality["WS353"] = None
    aim = goal([*RUNS, without])
    assert aim is not None and aim.measures == ("analogies",)


def cells(page: str, peer: str) -> list[list[str]]:
    """Cells of a tool's row in each table."""
    found = re.findall(rf"^\| {re.escape(peer)} \|.*$", page, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in found]


def test_page_shows_speed_quality_and_times() -> None:
    document = {
        "date": "2025-01-31",
        "corpus": {"name": "text.txt", "bytes": 5_000_000, "words": 1_000_000},
        "machine": describe(),
        "settings": {"sg": 1, "epochs": 3},
        "time_to_quality": 2,
        "peers": {
            name: {"command": "", "note": "is not" if name == "bad" else ""}
            for name in (REFERENCE, "quick", "bad", "broken")
        },
        "left_out": {"absent": "run: pip install it"},
    }
    document["runs"] = [run.to_json() for run in RUNS]
    page = markdown(document)
    times, speed, quality = cells(page, "quick")
    assert speed[1:7] == ["4.5", "6.67", "0.667 M", "1.333 M", "9.0", "6.67"]
    assert speed[-2:] == ["200", "1,234"]
    assert quality[1] == ".800 (+.100)"
    assert times[1:] == ["2", ".5800", "4.0", "0.09 (0.08–0.10)"]
    assert cells(page, "bad")[0][1] == "not reached"
    assert cells(page, "broken") == [["broken", "failed", *["–"] * 7]]
    assert "- broken: ended with exit code 1: no\n" in page
    assert "- absent: run: pip install it" in page and "- bad: is not" in page
    assert ".5800 = .6000 - .0200" in page
    document["time_to_quality"] = 0
    assert len(cells(markdown(document), "quick")) == 2


# small real runs


def test_in_order_sorts_vectors_by_word_count() -> None:
    vectors = KeyedVectors(2)
    vectors.add_vectors(["</s>", "rare", "frequent"], [[0, 0], [1, 2], [3, 4]])
    ordered = in_order(vectors, ["frequent", "unknown", "rare"])
    assert ordered.index_to_key == ["frequent", "rare"]
    assert ordered["rare"].tolist() == [1, 2]
    assert len(in_order(vectors, ["unknown"])) == 0


MINE = """
["made up"]
command = "{python} MADE_UP {corpus} {vectors}"
format = "binary"
note = "knows two words"

["failing"]
command = "{python} -c 'import sys; sys.exit(sys.argv[1] + \\" is bad\\")' {corpus} {vectors}"

["silent"]
command = "{python} -c pass {vectors}"

["absent"]
command = "{python} {vectors}"
modules = ["no_such_module"]
"""

MADE_UP = """
import struct, sys
with open(sys.argv[2], "wb") as file:
    file.write(b"2 3\\n")
    for word in (b"the", b"</s>"):
        file.write(word + b" " + struct.pack("<3f", 1, 2, 3) + b"\\n")
"""


def bench(folder: Path, *options: str) -> dict:
    small = ["--epochs", "1", "--seeds", "1", "--threads", "1", "--vector-size", "10", "--limit"]
    main([LEE, "--out", str(folder), "--name", "lee", *small, "3", "--no-pin", *options])
    return json.loads((folder / "lee.json").read_text())


def test_bench_compares_tools_on_the_lee_corpus(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "made up.py"
    script.write_text(MADE_UP)
    mine = written(tmp_path, MINE.replace("MADE_UP", f"'{script}'"))
    tools = [REFERENCE, "TFWord2Vec", "made up", "failing", "silent", "absent"]
    found = bench(tmp_path, "--peers", str(mine), "--time-to-quality", "--only", *tools)
    by_name = {one["peer"]: one for one in found["runs"]}
    assert list(by_name) == tools[:-1]
    for name in tools[:2]:
        one = by_name[name]
        assert one["error"] is None and one["vocabulary"] == len(WORDS)
        assert 0 < one["train_seconds"] < one["wall_seconds"]
        assert one["cpu_seconds"] > 0.2 and one["peak_bytes"] > 50e6
        assert set(one["quality"]) == {"WS353", "SimLex999", "analogies", "analogies, all"}
    assert by_name["made up"]["vocabulary"] == 1  # an end of sentence is no word
    assert by_name["failing"]["error"].endswith("ended with exit code 1:\nCORPUS is bad")
    assert by_name["silent"]["error"].endswith("wrote no vectors")
    out, errors = capfd.readouterr()
    assert "absent is left out: Python finds no module no_such_module" in out
    assert "lee_background.cor is bad" in errors
    text = (tmp_path / "lee.json").read_text() + (tmp_path / "lee.md").read_text()
    assert str(Path(LEE).parent) not in text
    page = (tmp_path / "lee.md").read_text()
    assert "| failing | failed |" in page and "- made up: knows two words" in page


@pytest.mark.slow
@pytest.mark.parametrize("name", [peer.name for peer in read(SHIPPED)])
@pytest.mark.parametrize("sg", [1, 0])
def test_shipped_tool_trains_the_lee_corpus(name: str, sg: int, tmp_path: Path) -> None:
    peer = next(peer for peer in read(SHIPPED) if peer.name == name)
    if why := peer.describe_mismatch(Settings(sg=sg)):
        pytest.skip(why)
    if "pyspark" in peer.modules and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    (one,) = bench(tmp_path, "--sg", str(sg), "--only", name)["runs"]
    assert one["error"] is None
    assert one["vocabulary"] == len(WORDS)
