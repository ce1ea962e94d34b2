import logging
import lzma
import subprocess
import sys
import zlib

import pytest
import typer
from typer.testing import CliRunner

from gensim_tfw2v import __version__
from gensim_tfw2v.cli.common import BadInput, naming_options
from gensim_tfw2v.cli.main import CommandsWithClearFailures, app
from tests.cli.conftest import ROOT


def test_help_names_every_command(process):
    result = process("--help")
    assert result.returncode == 0
    assert all(name in result.stdout for name in ("train", "evaluate", "neighbours", "demo"))


def test_version(tfw2v):
    assert tfw2v("--version").stdout == f"tfw2v {__version__}\n"


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from gensim_tfw2v.cli.main import app\n"
        "try: app(['train', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'tensorflow', 'gensim', 'scipy', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def test_evaluating_needs_no_tensorflow(models):
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
         "tfw2v: x.txt: No such file or directory\n"),
        (NotImplementedError(), 2, "tfw2v: NotImplementedError\n"),
        (ImportError("TensorFlow is too old"), 2, "tfw2v: TensorFlow is too old\n"),
        (EOFError("x.gz is cut short"), 2, "tfw2v: x.gz is cut short\n"),
        (zlib.error("x.gz is damaged"), 2, "tfw2v: x.gz is damaged\n"),
        (lzma.LZMAError("x.xz is damaged"), 2, "tfw2v: x.xz is damaged\n"),
        (KeyboardInterrupt(), 130, "tfw2v: interrupted\n"),
        (typer.Exit(3), 3, ""),
    ],
)  # fmt: skip
def test_expected_failures_are_one_line(error, status, line):
    result = CliRunner().invoke(failing_app(error), ["work"])
    assert (result.exit_code, result.stderr) == (status, line)


def test_ctrl_c_while_arguments_are_read_is_one_line():
    def interrupted(_):
        raise KeyboardInterrupt

    app = typer.Typer(cls=CommandsWithClearFailures)
    app.command()(lambda: None)
    given = typer.Option("", callback=interrupted)
    app.callback()(lambda given=given: None)
    result = CliRunner().invoke(app, ["--given", "x"])
    assert (result.exit_code, result.stderr) == (130, "tfw2v: interrupted\n")


def test_faults_of_the_program_keep_their_traceback():
    result = CliRunner().invoke(failing_app(KeyError("bug")), ["work"])
    assert isinstance(result.exception, KeyError)


def test_verbose_logs_in_gensims_form(models, tfw2v):
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
        (("--layout", "columns"), "--layout 'columns' spreads columns over ps tasks"),
        (("--sample", "1e308"), "--sample must be at most"),
    ],
)
def test_messages_name_what_was_typed(tfw2v, corpus, tmp_path, options, message):
    assert message in tfw2v("train", corpus, "-o", tmp_path / "m", *options, status=2).stderr


def test_names_in_texts_and_paths_stay():
    command = typer.main.get_command(app).commands["train"]
    said = "/x/log_dir: no such; the window is too wide, give another log_dir or log_dir=None"
    assert naming_options(said, command) == (
        "/x/log_dir: no such; the window is too wide, give another --log-dir or --log-dir None"
    )
