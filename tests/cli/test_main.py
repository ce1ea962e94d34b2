import json
import logging
import lzma
import os
import re
import subprocess
import sys
import zlib

import pytest
import typer
from typer.testing import CliRunner

from gensim_tfw2v import __version__
from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.cli.main import CommandsWithClearFailures, app
from gensim_tfw2v.cli.option_wording import name_options
from tests.cli.conftest import ROOT


def test_help_lists_commands(process):
    result = process("--help")
    assert result.returncode == 0
    assert all(name in result.stdout for name in ("train", "evaluate", "neighbours", "demo"))


def test_version_is_printed(tfw2v):
    assert tfw2v("--version").stdout == f"tfw2v {__version__}\n"


def test_help_imports_no_heavy_modules():
    code = (
        "import sys; from gensim_tfw2v.cli.main import app\n"
        "try: app(['train', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'tensorflow', 'gensim', 'scipy', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def test_neighbours_import_no_tensorflow(models):
    code = (
        "import sys; from gensim_tfw2v.cli.main import app\n"
        f"try: app(['neighbours', {str(models['text.txt'])!r}, 'the'])\n"
        "except SystemExit as end: assert not end.code\n"
        "assert 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def failing_app(error):
    app = typer.Typer(cls=CommandsWithClearFailures)

    @app.command()
    def work():
        raise error

    @app.command()
    def other():
        pass

    return app


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (BadInput("no such\nfile"), 2, "tfw2v: no such file\n"),
        (FileNotFoundError(2, "No such file or directory", "x.txt"), 2,
         "tfw2v: x.txt: No such file or directory; check the path\n"),
        (NotImplementedError(), 2, "tfw2v: NotImplementedError\n"),
        (ImportError("TensorFlow is too old"), 2, "tfw2v: TensorFlow is too old\n"),
        (EOFError("x.gz is cut short"), 2, "tfw2v: x.gz is cut short\n"),
        (zlib.error("x.gz is damaged"), 2, "tfw2v: x.gz is damaged\n"),
        (lzma.LZMAError("x.xz is damaged"), 2, "tfw2v: x.xz is damaged\n"),
        (KeyboardInterrupt(), 130, "tfw2v: interrupted\n"),
        (typer.Exit(3), 3, ""),
    ],
)  # fmt: skip
def test_expected_failures_print_one_line(error, status, line):
    result = CliRunner().invoke(failing_app(error), ["work"])
    assert (result.exit_code, result.stderr) == (status, line)


def test_ctrl_c_while_parsing_arguments_prints_one_line():
    def interrupted(_):
        raise KeyboardInterrupt

    app = typer.Typer(cls=CommandsWithClearFailures)
    app.command()(lambda: None)
    given = typer.Option("", callback=interrupted)
    app.callback()(lambda given=given: None)
    result = CliRunner().invoke(app, ["--given", "x"])
    assert (result.exit_code, result.stderr) == (130, "tfw2v: interrupted\n")


def test_unexpected_errors_keep_their_traceback():
    result = CliRunner().invoke(failing_app(KeyError("bug")), ["work"])
    assert isinstance(result.exception, KeyError)


def test_verbose_logs_in_gensims_format(models, tfw2v):
    root, ours = logging.getLogger(), logging.getLogger("gensim_tfw2v")
    handlers, level = root.handlers[:], root.level
    try:
        result = tfw2v("neighbours", models["vectors.kv"], "the", "--verbose")
        assert " : INFO : loading " in result.stderr
    finally:
        root.handlers[:], root.level = handlers, level
        ours.setLevel(logging.NOTSET)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--regime", "nope"), "--regime is 'nope'"),
        (("--cluster", "nope"), "--cluster is 'nope'"),
        (("--layout", "columns"), "--layout columns spreads columns over ps tasks"),
        (("--sample", "1e308"), "--sample must be at most"),
        (("--regime", "async"), "--regime is 'async': use 'asynchronous', 'synchronous',"),
        (("--regime", "sandblaster"), "(--cbow) computes a different one: set --corrected-cbow"),
        (("--layout", "columns", "--regime", "downpour:n_push=8"),
         "--layout columns updates columns on the ps tasks in each step, and leaves the regime"),
        (("--cluster", "local"), "9999, 'TF_CONFIG', or addresses (with tfw2v: --hosts FILE)"),
        (("--early-stopping", "ws"),
         "--early-stopping is 'ws': use ws353, simlex999, questions-words, loss or "
         "a file"),
        (("--log-dir", "x", "--log-pairs", "ws"), "give ws353, simlex999 or a file"),
        *[((name, "/proc/x"), f"{name} /proc/x: cannot be written to")
          for name in ("--log-dir", "--checkpoint-dir")],
    ],
)  # fmt: skip
def test_messages_name_command_line_options(tfw2v, corpus, tmp_path, options, message):
    said = tfw2v("train", corpus, "-o", tmp_path / "m", *options, status=2).stderr
    assert message in said
    assert said.count("\n") == 1
    # no Python syntax: classes, calls, values of arguments
    assert not re.search(r"gensim_tfw2v\.|\w\(\w|=(True|False|None)|\bCluster\b", said)


def test_name_options_leaves_paths_and_prose_unchanged():
    command = typer.main.get_command(app).commands["train"]
    said = "/x/log_dir: no such; the window is too wide, give another log_dir or log_dir=None"
    assert name_options(said, command) == (
        "/x/log_dir: no such; the window is too wide, give another --log-dir or --log-dir None"
    )


#: Commands not run here: they serve, start clusters or need a running one.
NOT_RUN = ("cluster check", "cluster local", "cluster logs", "cluster ssh", "cluster status",
           "cluster stop", "demo", "task", "tensorboard")  # fmt: skip

#: Arguments of the remaining commands.
CALLS = {
    "train": "CORPUS -o OUT --vector-size 4 --epochs 1 --no-progress",
    "walks": "GRAPH -o -",
    "evaluate": "MODEL --no-standard",
    "info": "MODEL",
    "neighbours": "MODEL the -n 200",
    "similarity": "MODEL the of",
    "vectors": "MODEL",
    "convert": "MODEL OUT",
    "index": "MODEL OUT",
    "merge": "MODEL MODEL -o OUT",
    "align": "MODEL --output-dir LOGS",
    "changes": "MODEL MODEL",
    "projector": "MODEL --log-dir LOGS",
    "plan": "--vocab 9 --tokens 1G",
    "cluster ls": "",
}

#: Runs commands in forks of a process that has imported everything. Their standard output is a
#: pipe without a reader ("pipe"; "lines" if line-buffered), a full disk ("full") or closed.
#: Prints their exit statuses and errors as JSON.
PRINTING = """
import json, os, sys, tempfile
from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.cli import evaluate, plan
from gensim_tfw2v.cli.start import main

found = []
for *call, streams in json.loads(sys.argv[1]):
    for stream in streams:
        with tempfile.TemporaryFile() as said, open(call[1]) as given:
            child = os.fork()
            if not child:
                reader, writer = os.pipe()
                os.close(reader)
                os.dup2(os.open("/dev/full", os.O_WRONLY) if stream == "full" else writer, 1)
                os.dup2(given.fileno(), 0)
                os.dup2(said.fileno(), 2)
                sys.argv = ["tfw2v", *call[0]]
                buffering = 1 if stream == "lines" else -1
                sys.stdout = open(1, "w", buffering) if stream != "closed" else None
                main()
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            said.seek(0)
            found.append([call[0], stream, status, said.read().decode()])
print(json.dumps(found))
"""


def names_of_commands(group, prefix=""):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from names_of_commands(command, f"{prefix}{name} ")
        else:
            yield prefix + name


def test_every_command_is_in_a_table():
    names = {*names_of_commands(typer.main.get_command(app))} - {"neighbors", "nn"}
    assert names == {*CALLS, *NOT_RUN}, "add the new command to one of the two tables"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize(
    ("names", "streams"),
    [
        (("info", "--help"), {"pipe": 1, "lines": 1, "full": 2, "closed": 0}),
        pytest.param(
            (*CALLS, "--version"), {"pipe": 1, "lines": 1, "full": 2}, marks=pytest.mark.slow
        ),
    ],
    ids=["some", "all"],
)
def test_closed_pipes_exit_silently_and_full_disks_are_errors(
    models, corpus, tmp_path, names, streams
):
    words, known = tmp_path / "words", {"MODEL": models["model"], "CORPUS": corpus}
    words.write_text("the\nof\n")
    known |= {name: tmp_path / name for name in ("OUT", "LOGS", "GRAPH")}
    known["GRAPH"].write_text("a b\nb c\n")
    calls = [
        ([*name.split(), *(str(known.get(word, word)) for word in CALLS.get(name, "").split())],
         str(words), list(streams))
        for name in names
    ]  # fmt: skip
    command = [sys.executable, "-c", PRINTING, json.dumps(calls)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert len(found) == len(names) * len(streams)
    wrong = [
        (call, stream, status, said)
        for call, stream, status, said in found
        if (status, said.count("\n")) != (streams[stream], stream == "full")
    ]
    assert not wrong


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs limits of memory")
@pytest.mark.parametrize("model", [[], ["--fasttext"], ["--doc2vec"]], ids=str)
def test_too_little_memory_is_one_line_with_what_is_needed_and_available(corpus, tmp_path, model):
    command = [sys.executable, "-m", "gensim_tfw2v", "train", "--vector-size", "100000000"]
    result = subprocess.run(
        # a limit, because some systems promise more memory than they have
        ["bash", "-c", 'ulimit -v 16777216; exec "$@"', "-"]
        + [*command, *model, str(corpus), "-o", str(tmp_path / "model")],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert result.returncode == 2
    last = result.stderr.splitlines()[-1]
    said = r"tfw2v: too little memory: Unable to allocate [\d.]+ GiB for an array with .*\. "
    assert re.fullmatch(said + r"[\d.]+ GiB of memory are available, ulimit -v is 16\.0 GiB", last)
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())


def test_memory_error_of_python_without_a_message_is_one_line(monkeypatch, capsys):
    group = CommandsWithClearFailures()
    monkeypatch.setattr(typer.core.TyperGroup, "invoke", lambda *_: [0] * sys.maxsize)
    with pytest.raises(typer.Exit):
        group.invoke(None)
    assert re.fullmatch(r"tfw2v: too little memory\. [\d.]+ GiB .*\n", capsys.readouterr().err)
