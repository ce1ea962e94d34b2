"""L-BFGS on NumPy vectors, one evaluation per step, compared with SciPy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, rosen, rosen_der

from gensim_tfw2v.regimes.lbfgs import LBFGS, MAX_TRIALS


class Numbers:
    """Vector in NumPy with the methods that `LBFGS` needs."""

    def __init__(self, values):
        self.values = np.array(values, float)

    def dot(self, other):
        return float(self.values @ other.values)

    def add(self, factor, other):
        self.values += factor * other.values

    def scale(self, factor):
        self.values *= factor

    def copy(self, other):
        self.values[:] = other.values


def run(function, gradient, start, evaluations, history=10, **options):
    """Minimize; return the best points, their losses, and the search."""
    point = Numbers(start)
    search = LBFGS(point, lambda: Numbers(np.full(len(start), np.nan)), history, **options)
    points, losses = [], []
    for _ in range(evaluations):
        search.gradient.values[:] = gradient(search.trial.values)
        search.report(float(function(search.trial.values)))
        if search.loss is not None:
            points.append(point.values.copy())
            losses.append(search.loss)
    return points, losses, search


def quadratic(size, condition, seed=0):
    rng = np.random.default_rng(seed)
    axes, _ = np.linalg.qr(rng.normal(size=(size, size)))
    matrix = axes @ np.diag(np.geomspace(1, condition, size)) @ axes.T
    centre = rng.normal(size=size)
    return (
        lambda x: 0.5 * (x - centre) @ matrix @ (x - centre) + 3,
        lambda x: matrix @ (x - centre),
        rng.normal(size=size),
    )


def logistic(size):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(5 * size, size))
    signs = np.where(rows @ rng.normal(size=size) + rng.normal(size=5 * size) > 0, 1, -1)
    rows *= signs[:, None]
    return (
        lambda x: np.logaddexp(0, -rows @ x).sum(),
        lambda x: -rows.T @ (1 / (1 + np.exp(rows @ x))),
        np.zeros(size),
    )


@pytest.mark.parametrize(
    "problem",
    [
        quadratic(5, 10),
        quadratic(40, 1000),
        (rosen, rosen_der, np.array([-1.2, 1.0])),
        (rosen, rosen_der, np.full(10, -0.5)),
        logistic(20),
    ],
    ids=["quadratic", "long-quadratic", "rosenbrock", "long-rosenbrock", "logistic"],
)
def test_loss_reaches_the_minimum_of_scipy(problem):
    function, gradient, start = problem
    theirs = minimize(
        function, start, jac=gradient, method="L-BFGS-B", options={"maxcor": 10, "gtol": 1e-6}
    )
    # a few more than SciPy: far from the minimum, the two take different steps
    points, losses, _ = run(function, gradient, start, round(1.3 * theirs.nfev) + 10)
    scale = abs(function(start) - theirs.fun)
    assert losses[-1] - theirs.fun < 1e-5 * scale
    assert np.all(np.diff(losses) <= 0)
    for point, loss in zip(points, losses, strict=True):
        assert function(point) == pytest.approx(loss, rel=1e-12)


def test_preconditioner_saves_evaluations():
    curvature = np.geomspace(1, 1e6, 30)
    start = np.random.default_rng(0).normal(size=30)

    def precondition(vector):
        vector.values /= 3 * curvature

    problem = (lambda x: 0.5 * curvature @ (x - 1) ** 2, lambda x: curvature * (x - 1), start, 15)
    _, plain, _ = run(*problem)
    _, guessed, _ = run(*problem, precondition=precondition)
    assert guessed[-1] < 1e-12 * guessed[0] < plain[-1]


def test_history_of_one_solves_a_circular_quadratic():
    function, gradient, start = quadratic(6, 1)
    _, losses, _ = run(function, gradient, start, 8, history=1)
    assert losses[-1] == pytest.approx(3, abs=1e-9)


def test_nonfinite_loss_shortens_the_step():
    def function(x):
        return float(np.sum(x - np.log(x))) if np.all(x > 0) else math.nan

    def gradient(x):
        return 1 - 1 / x if np.all(x > 0) else np.full(len(x), np.inf)

    points, losses, _ = run(function, gradient, np.array([0.01, 3.0]), 60)
    np.testing.assert_allclose(points[-1], 1, atol=1e-3)
    assert np.all(np.diff(losses) <= 0)


def test_search_stays_at_the_minimum():
    points, losses, search = run(lambda x: x @ x, lambda x: 2 * x, np.zeros(3), 5)
    assert search.step == 0 and set(losses) == {0.0}
    np.testing.assert_array_equal(points, 0)


def test_wrong_gradient_gives_up_the_direction():
    """With a wrong gradient, the loss never rises and the search restarts at the same point."""
    start = np.array([1.0, 2.0])
    points, losses, search = run(lambda x: x @ x, lambda x: -x, start, MAX_TRIALS + 3)
    np.testing.assert_array_equal(points[-1], start)
    assert set(losses) == {5.0} and len(losses) == MAX_TRIALS + 2
    search.restart()
    np.testing.assert_array_equal(search.trial.values, start)


@settings(max_examples=40)
@given(
    st.integers(1, 6), st.floats(1, 1e4), st.integers(1, 4), st.integers(0, 5), st.integers(1, 40)
)
def test_loss_never_rises(size, condition, history, seed, evaluations):
    function, gradient, start = quadratic(size, condition, seed)
    _, losses, search = run(function, gradient, start, evaluations, history)
    assert np.all(np.diff(losses) <= 0)
    assert len(search._pairs) <= history
    for pair in search._pairs:
        assert pair.sy > 0 and pair.sy == pytest.approx(pair.s.dot(pair.y), rel=1e-6)
