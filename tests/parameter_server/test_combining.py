"""Pushed fractions per direction: N concurrent jobs move rows as far as N sequential ones."""

import numpy as np
import pytest
from gensim.test.utils import common_texts

from gensim_tfw2v import TFFastText, TFWord2Vec
from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.ops.library import load_ops
from gensim_tfw2v.parameter_server.combining import (
    DIRECTIONS,
    Directions,
    concurrent_jobs,
    curvature,
    directions,
    larger_step_sizes,
)
from gensim_tfw2v.parameter_server.scratch import PaddedScratch, Scratch, WorkerVariables
from gensim_tfw2v.unit_sizes import DELAY_WEIGHT


def matrix_of(values, seed=1):
    """Return a symmetric matrix with these eigenvalues, and its eigenvectors in columns."""
    vectors, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values),) * 2))
    return (vectors * values) @ vectors.T, vectors


@pytest.mark.parametrize("workers", [1, 4, 32])
def test_concurrent_jobs_move_rows_as_far_as_sequential_jobs(workers):
    """Each row relaxes to its optimum as in gradient flow: by exp(-steps * M) per job."""
    values = np.geomspace(1e-3, 0.4, DIRECTIONS)
    matrix, vectors = matrix_of(values)
    steps = np.array([1e-4, 0.5, 4.0, 64.0, 4096.0])
    start = np.random.default_rng(2).normal(size=(len(steps), DIRECTIONS))
    left = np.exp(-steps[:, None] * values)  # remaining fraction of the distance after one job
    change = start @ vectors * (left - 1) @ vectors.T  # the optimum is 0
    along = Directions.of(tf.constant(matrix, tf.float32), tf.constant(float(workers)))
    share = along.shares(tf.constant(steps, tf.float32))
    moved = workers * share.apply(tf.constant(change, tf.float32), tf.range(len(steps))).numpy()
    expected = start @ vectors * (left**workers - 1) @ vectors.T
    # steps are rounded by at most 9 % (an eighth of an octave)
    np.testing.assert_allclose(moved, expected, atol=0.09 * np.abs(expected).max())


@pytest.mark.parametrize("jobs", [2, 4, 32])
def test_delayed_jobs_approach_the_optimum_without_oscillation(jobs):
    """Each job starts from the row as it was before the last ``jobs - 1`` pushes."""
    step = 8.0
    moved = {}
    for weight in (1.0, DELAY_WEIGHT):
        n_concurrent = concurrent_jobs(tf.constant(float(jobs)), weight)
        along = Directions.of(tf.eye(DIRECTIONS), n_concurrent)
        pushed = along.shares(tf.constant([step]))
        fraction = pushed.shares[pushed.levels[0], -1].numpy()
        rows = [1.0] * jobs  # the optimum is 0
        for _ in range(20 * jobs):
            rows.append(rows[-1] - fraction * (1 - np.exp(-step)) * rows[-jobs])
        moved[weight] = np.array(rows)
    assert moved[1.0].min() < -0.02  # jobs that count as one another overshoot
    assert moved[DELAY_WEIGHT].min() >= 0 and moved[DELAY_WEIGHT][-1] < 0.05


def test_single_worker_is_not_delayed():
    assert concurrent_jobs(tf.constant(1.0), DELAY_WEIGHT) == 1.0


def test_remaining_directions_use_their_mean_curvature():
    size = DIRECTIONS + 20
    values = np.concatenate([np.full(20, 0.01), np.linspace(0.1, 1, DIRECTIONS)])
    matrix, vectors = matrix_of(values)
    share = Directions.of(tf.constant(matrix, tf.float32), tf.constant(8.0)).shares(
        tf.constant([16.0])
    )
    moved = share.apply(tf.constant(vectors.T, tf.float32), tf.zeros([size], tf.int32)).numpy()
    x = 16 * values
    expected = vectors.T * ((1 - np.exp(-8 * x)) / (8 * (1 - np.exp(-x))))[:, None]
    np.testing.assert_allclose(moved, expected, atol=1e-3)


def test_pushed_fractions_are_between_mean_and_sum():
    matrix, _ = matrix_of(np.geomspace(1e-4, 1, 30))
    share = Directions.of(tf.constant(matrix, tf.float32), tf.constant(6.0)).shares(
        tf.constant([0.0, 1e-9, 1.0, 1e9])
    )
    of_rows = tf.gather(share.shares, share.levels).numpy()
    np.testing.assert_allclose(of_rows[:2], 1.0, atol=1e-3)
    np.testing.assert_allclose(of_rows[3], 1 / 6, atol=1e-3)
    assert np.all(np.diff(of_rows, axis=0) <= 1e-6)
    assert np.all(np.isfinite(of_rows))


def test_curvature_equals_the_second_derivative():
    """Compares with the second derivative of the loss of pairs by automatic differentiation."""
    rng = np.random.default_rng(3)
    own, other, third = (tf.constant(rng.normal(size=(40, 5)), tf.float32) for _ in range(3))
    move = tf.Variable(tf.zeros([5]))  # common shift of all own rows

    def loss():
        return 0.25 * tf.reduce_mean(
            tf.math.softplus(tf.reduce_sum((own + move) * other, 1))
        ) + 0.75 * tf.reduce_mean(tf.math.softplus(tf.reduce_sum((own + move) * third, 1)))

    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            value = loss()
        slope = inner.gradient(value, move)
    expected = outer.jacobian(slope, move)
    found = curvature(own, [(tf.constant(0.25), other), (tf.constant(0.75), third)])
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("size", [5, 16, 100])
@pytest.mark.parametrize("dtype", [tf.float32, tf.bfloat16])
@pytest.mark.skipif(load_ops() is None, reason="the compiled kernels are missing")
def test_compiled_changes_equal_the_tensorflow_fallback(size, dtype):
    rng = np.random.default_rng(4)
    matrix, _ = matrix_of(rng.uniform(0.001, 1, size))
    rows, known = (tf.constant(rng.normal(size=(50, size)), tf.float32) for _ in range(2))
    known = tf.cast(known, dtype)
    places = [tf.constant([3, 1, 40]), tf.constant([0, 49])]
    parts = [tf.gather(known, at) for at in places]
    steps = tf.constant(rng.uniform(0, 50, 50), tf.float32)
    share = Directions.of(tf.constant(matrix, tf.float32), tf.constant(5.0)).shares(steps)

    def changes(kind):
        scratch = kind(WorkerVariables(), "test", size)

        @tf.function(autograph=False)
        def of_rows():
            with tf.control_dependencies([scratch.place([tf.range(50)], [rows])]):
                return scratch.changes(places, parts, share, tf.constant([1, 2]))

        return of_rows()

    for one, other in zip(changes(PaddedScratch), changes(Scratch), strict=True):
        np.testing.assert_allclose(
            tf.cast(one, tf.float32), tf.cast(other, tf.float32), rtol=1e-2, atol=1e-5
        )


def test_directions_follow_the_rows_of_the_opposite_table():
    """Inputs move along outputs, and outputs along inputs; rare rows do not matter."""
    rng = np.random.default_rng(5)
    axes = np.eye(3, 20)
    inputs, outputs, rare = (rng.normal(size=(300, 1)) * axis for axis in axes)
    rows = {"inputs": inputs, "outputs": np.concatenate([outputs, 100 * rare])}
    rates = {"inputs": np.ones(300), "outputs": np.repeat([1.0, 1e-12], 300)}
    found = directions(
        *({name: tf.constant(x, tf.float32) for name, x in of.items()} for of in (rows, rates)),
        tf.constant([7, 1]),
        tf.constant(4.0),
    )
    for name, axis in (("inputs", axes[1]), ("outputs", axes[0])):
        np.testing.assert_allclose(np.abs(found[name].basis[-1]), axis, atol=1e-4)


def test_more_workers_raise_the_learning_rate():
    alphas = tf.constant([[0.025, 0.02], [0.02, 0.015]])
    for workers, growth, by in ((1.0, 3.0, 1.0), (16.0, 3.0, 2.0), (16.0, 1.5, 1.5)):
        larger = larger_step_sizes(growth, alphas, tf.constant(workers))
        np.testing.assert_allclose(larger, by * alphas, rtol=1e-6)
    np.testing.assert_allclose(
        larger_step_sizes(9.0, alphas, tf.constant(16.0), 1 / 2), 4 * alphas, rtol=1e-6
    )


@pytest.mark.parametrize(
    ("class_", "options", "weight"),
    [
        (TFWord2Vec, {"sg": 1}, DELAY_WEIGHT),
        (TFWord2Vec, {"sg": 0}, 1.0),
        (TFFastText, {"sg": 1, "bucket": 100}, 1.0),
        (TFWord2Vec, {"sg": 1, "regime": "downpour"}, 1.0),
    ],
)
def test_delays_count_in_asynchronous_skip_gram_only(monkeypatch, class_, options, weight):
    weights = []

    def record(jobs, weight):
        weights.append(weight)
        return concurrent_jobs(jobs, weight)

    monkeypatch.setattr("gensim_tfw2v.parameter_server.combining.concurrent_jobs", record)
    options = {"regime": "asynchronous", **options}
    class_(common_texts, min_count=1, vector_size=7, epochs=1, workers=2, **options)
    assert set(weights) == {weight}
