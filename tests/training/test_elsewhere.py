"""If TensorFlow's state prevents training in this process, another one trains, to the same bits."""

import contextlib
import functools
import subprocess

import pytest
from gensim.test.utils import common_texts

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.regimes import coordinated_regime
from tests.forks import SharedLauncher


def trained():
    """Train a model; return the bytes of its vectors."""
    options = dict(vector_size=8, min_count=1, workers=1, seed=3, sample=0, epochs=1)
    return TFWord2Vec(common_texts * 20, regime="asynchronous", **options).wv.vectors.tobytes()


@pytest.fixture(scope="module")
def expected():
    return trained()


@pytest.fixture
def launcher(kept_forks, monkeypatch):
    """Launcher that forks processes, including those that train for this one."""
    with contextlib.closing(SharedLauncher(isolated=False)) as launcher:
        forking = functools.partial(
            coordinated_regime.CoordinatedRegime, start=launcher.start_module
        )
        monkeypatch.setattr(coordinated_regime, "CoordinatedRegime", forking)
        yield launcher


def in_graph():
    with tf.Graph().as_default():
        return trained()


def in_function():
    bits = []
    tf.function(lambda: bits.append(trained()), autograph=False)()
    return bits[0]


def in_strategy():
    with tf.distribute.MirroredStrategy().scope():
        return trained()


@pytest.mark.parametrize("train", [in_graph, in_function, in_strategy])
@pytest.mark.usefixtures("launcher")
def test_surrounding_tensorflow_context_does_not_change_the_bits(train, expected, caplog):
    with caplog.at_level("INFO", "gensim_tfw2v"):
        assert train() == expected
    assert "a separate process trains, because " in caplog.text


@pytest.mark.parametrize(
    "setting",
    ["tf.compat.v1.disable_eager_execution()", "tf.config.experimental.enable_op_determinism()"],
)
def test_process_wide_tensorflow_settings_do_not_change_the_bits(setting, expected, launcher):
    program = f"from {__name__} import tf, trained; {setting}; print(trained().hex())"
    process = launcher.start_module("tests.forked", "run", program, stdout=subprocess.PIPE)
    with process.stdout as written:
        assert written.read().decode().strip() == expected.hex()
    assert process.wait() == 0
