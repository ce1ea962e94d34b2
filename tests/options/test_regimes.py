"""Regimes are chosen by objects or names; errors list the valid ones."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from gensim_tfw2v import Asynchronous, Downpour, Sandblaster, Synchronous, TFWord2Vec
from gensim_tfw2v.options.regimes import check_lock, parse_regime
from gensim_tfw2v.training.training_plan import Plan
from gensim_tfw2v.training.vocabulary import Vocabulary


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("asynchronous", Asynchronous()),
        (" Synchronous ", Synchronous()),
        ("synchronous:steps=4", Synchronous(steps=4)),
        (
            "downpour:n_fetch=2, n_push=4,adagrad=true,warm_start=.25",
            Downpour(2, 4, True, 0.25),
        ),
        (Downpour(n_push=1), Downpour(32, 1)),
        ("sandblaster:history=4", Sandblaster(4)),
    ],
)
def test_regime_is_parsed_from_name_or_object(given, meant):
    assert parse_regime(given) == meant


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("hogwild", "regime is 'hogwild': use 'asynchronous', 'synchronous', 'downpour'"),
        (7, "regime is 7: use"),
        ("downpour:fetch=2", r"has no option 'fetch' \(known: n_fetch, n_push, adagrad"),
        ("asynchronous:x=1", "known: it has none"),
        ("downpour:n_fetch=two", "n_fetch is 'two': use a whole number"),
        *((f"downpour:n_fetch={bad}", "use a whole number") for bad in ("1_0", "٣", "1e3")),
        *((f"downpour:warm_start={bad}", "use a finite number") for bad in ("0_1", "inf", "٠")),
        ("downpour:adagrad=yes", "adagrad is 'yes': use true or false"),
        ("downpour:adagrad", "adagrad is '': use true or false"),
        ("downpour:n_fetch=0", "n_fetch must be a whole number from 1 up, got 0"),
        ("downpour:warm_start=2", "warm_start must be from 0 to 1, got 2.0"),
        ("synchronous:steps=0", "steps must be a whole number from 1 up, got 0"),
        ("sandblaster:history=0", "history must be a whole number from 1 up, got 0"),
    ],
)
def test_invalid_regime_raises(given, said):
    with pytest.raises(ValueError, match=said):
        parse_regime(given)
    with pytest.raises(ValueError, match=said):
        TFWord2Vec(regime=given)


@pytest.mark.parametrize("steps", [0, -1, 2.5, True, "4"])
def test_regime_objects_check_their_options(steps):
    with pytest.raises(ValueError, match="steps must be a whole number from 1 up"):
        Synchronous(steps=steps)


def test_batch_method_needs_the_gradient_of_a_loss():
    with pytest.raises(ValueError, match="set corrected_cbow=True, or sg=1"):
        TFWord2Vec(regime="sandblaster")
    for options in ({"sg": 1}, {"corrected_cbow": True}):
        TFWord2Vec(regime="sandblaster", **options)


def test_batch_method_locks_rows_completely_or_not_at_all():
    model = TFWord2Vec(sg=1, min_count=1, vector_size=4, regime="sandblaster")
    model.build_vocab([["a", "b"]] * 9)
    before = model.wv.vectors.copy()
    model.wv.vectors_lockf = np.array([1, 0.5], np.float32)
    with pytest.raises(ValueError, match=r"vectors_lockf has a factor 0\.5: use 0 .* and 1"):
        model.train([["a", "b"]] * 9, total_examples=9, epochs=1)
    np.testing.assert_array_equal(model.wv.vectors, before)
    check_lock(np.array([0, 1], np.float32))


def test_importing_the_model_imports_no_regime():
    program = (
        "import sys, gensim_tfw2v.model\n"
        "names = ('asynchronous', 'synchronous', 'downpour', 'sandblaster', 'sub_models')\n"
        "print([name for name in names if f'gensim_tfw2v.regimes.{name}' in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300
    )
    assert ran.stdout == "[]\n"


def job_config(tokens=1 << 24, **options):
    """Return the plan of the jobs on a corpus of this many tokens."""
    model = TFWord2Vec(min_count=1, sample=0, **options)
    model.build_vocab([[str(word) for word in range(2000)]])
    corpus = SimpleNamespace(total_tokens=tokens, longest_sentence=100)
    return Plan(model._current_config(), Vocabulary.of(model), corpus).job_config


@pytest.mark.parametrize("options", [{"sg": 1}, {"sg": 0}], ids=str)
def test_large_sub_models_are_trained_in_blocks(options):
    config = job_config(1 << 27, regime="submodels:models=8", **options)
    assert not config.engine.options.sequential


def test_adagrad_with_its_large_alpha_trains_workers_concurrently():
    options = {"sg": 1, "workers": 2, "alpha": 0.5}
    assert job_config(100_000, regime="downpour", **options).one_at_a_time
    adaptive = job_config(100_000, regime="downpour:adagrad=true", **options)
    assert not adaptive.one_at_a_time
    default = job_config(regime="downpour", sg=1)
    assert job_config(regime="downpour:adagrad=true", **options).max_growth == default.max_growth


@pytest.mark.parametrize(
    ("regime", "turns"),
    [
        *((name, True) for name in ("asynchronous", "synchronous", "downpour")),
        *((name, False) for name in ("submodels", "sandblaster")),
    ],
)
def test_small_corpus_with_long_steps_trains_one_worker_at_a_time(regime, turns, caplog):
    caplog.set_level("INFO")
    options = {"sg": 1, "negative": 20, "window": 10, "regime": regime, "workers": 2}
    assert job_config(100_000, **options).one_at_a_time is turns
    assert ("2 workers train one at a time" in caplog.text) is turns
    assert not job_config(10_000_000, **options).one_at_a_time
