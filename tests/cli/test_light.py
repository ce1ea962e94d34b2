"""Without TensorFlow and TensorBoard, everything that needs neither works."""

import subprocess
import sys
from pathlib import Path

import pytest
from gensim.test.utils import datapath

pytestmark = pytest.mark.light

#: Packages that a light installation lacks.
LACKED = ("tensorflow", "keras", "tensorboard", "h5py", "google", "grpc")

#: Trains, saves, merges, evaluates and converts without them.
PROGRAM = f"""
import sys
sys.modules.update(dict.fromkeys({LACKED}))
from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec, merge_models
from gensim_tfw2v.cli.main import app
corpus, saved, npz = sys.argv[1:]
options = dict(corpus_file=corpus, vector_size=8, epochs=1, min_count=20, workers=2)
models = [
    TFWord2Vec(**options, hs=1, deterministic=True, checkpoint_dir=saved + ".checkpoints"),
    TFFastText(**options, bucket=100),
    TFDoc2Vec(**options, dm=0),
]
models[0].save(saved)
assert models[1].wv["unseen"].shape == models[2].infer_vector(["the"]).shape == (8,)
assert merge_models(models[:1] * 2).wv.vectors.shape == models[0].wv.vectors.shape
assert TFWord2Vec.load(saved).held_out_loss(corpus_file=corpus) > 0
app(["evaluate", saved], standalone_mode=False)
app(["convert", saved, npz], standalone_mode=False)
"""


def test_a_light_installation_trains_evaluates_and_converts(tmp_path):
    """Takes 5 s of CPU, because it imports gensim."""
    paths = (datapath("lee_background.cor"), tmp_path / "saved", tmp_path / "vectors.npz")
    command = [sys.executable, "-c", PROGRAM, *map(str, paths)]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    assert "ws353" in done.stdout
    assert paths[2].exists()


HOSTS = '{"chief": ["a:1"], "ps": ["a:2"], "worker": ["a:3"]}'


@pytest.mark.parametrize(
    ("command", "user", "package"),
    [
        ("train TEXT -o OUT --cluster local:ps=1,worker=1", "--cluster", "tensorflow"),
        ("train TEXT -o OUT --hosts HOSTS", "--cluster", "tensorflow"),
        ("train TEXT -o OUT --regime downpour", "--regime", "tensorflow"),
        ("train TEXT -o OUT --log-dir DIR", "--log-dir", "tensorboard"),
        ("convert VECTORS OUT.keras", "a .keras file", "tensorflow"),
        ("demo", "--cluster", "tensorflow"),
        ("task --hosts HOSTS", "tfw2v task", "tensorflow"),
        ("cluster local -- train TEXT -o OUT", "tfw2v cluster", "tensorflow"),
        ("cluster ssh --hosts HOSTS -- train TEXT -o OUT", "tfw2v cluster", "tensorflow"),
        ("cluster status --hosts HOSTS", "tfw2v cluster", "tensorflow"),
        ("cluster check --hosts HOSTS", "tfw2v cluster", "tensorflow"),
        ("tensorboard DIR", "tfw2v tensorboard", "tensorboard"),
        ("projector VECTORS --log-dir DIR", "tfw2v projector", "tensorboard"),
        ("evaluate VECTORS --log-dir DIR", "--log-dir", "tensorboard"),
    ],
)
def test_one_line_says_what_is_missing(command, user, package, tfw2v, tmp_path, monkeypatch):
    for name in LACKED:
        monkeypatch.setitem(sys.modules, name, None)
    paths = {name: tmp_path / name for name in ("TEXT", "OUT", "HOSTS", "DIR", "VECTORS")}
    paths["TEXT"].write_text("a b\n" * 9)
    paths["HOSTS"].write_text(HOSTS)
    paths["VECTORS"].write_text("1 1\na 1\n")
    paths["OUT.keras"] = tmp_path / "out.keras"
    said = tfw2v(*(paths.get(word, word) for word in command.split()), status=2).stderr
    assert said == f"tfw2v: {user} needs {package}, which is missing. Run: pip install {package}\n"
    assert not paths["OUT.keras"].exists()


def test_without_kernels_the_message_also_says_how_to_compile_them(tfw2v, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    monkeypatch.setattr("gensim_tfw2v.kernel.native.by_ctypes.is_available", lambda: False)
    monkeypatch.setattr("gensim_tfw2v.ops.library.OPS", tmp_path / "none")
    text = tmp_path / "text"
    text.write_text("a b\n" * 9)
    said = tfw2v("train", text, "-o", tmp_path / "out", status=2).stderr
    assert "g++" in said and said.endswith("Run: pip install tensorflow\n")
