import numpy as np
import pytest

from gensim_tfw2v.evaluation import logistic_regression


def made_problem(n_samples, n_features, n_labels, scale=1.0, seed=0):
    """Return correlated features of different sizes, and targets of rare and usual labels."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(n_features, n_features)) * np.geomspace(0.1, 3, n_features)
    features = scale * (rng.normal(size=(n_samples, n_features)) @ mixing + 2)
    weights = rng.normal(size=(n_features, n_labels)) / scale
    log_odds = features @ weights / 4 + np.linspace(-3, 1, n_labels)
    targets = rng.random(log_odds.shape) < 1 / (1 + np.exp(-log_odds))
    targets[0], targets[1] = True, False
    return features.astype(np.float32), targets


PROBLEMS = {
    "many samples": (500, 6, 4),
    "more features than samples": (20, 40, 3),
    "small vectors": (300, 6, 4, 0.01),
    "large vectors": (300, 6, 4, 30.0),
}


@pytest.mark.parametrize("sizes", PROBLEMS.values(), ids=list(PROBLEMS))
def test_gradient_of_the_penalized_loss_vanishes(sizes):
    features, targets = made_problem(*sizes)
    weights, intercepts = logistic_regression.fit(features, targets)
    errors = 1 / (1 + np.exp(-(features @ weights + intercepts))) - targets
    # relative to the gradient at the start
    start = np.abs(features.T @ (targets.mean(axis=0) - targets)).max()
    assert np.abs(features.T @ errors + weights).max() < 1e-3 * start
    assert np.abs(errors.sum(axis=0)).max() < 0.01


@pytest.mark.parametrize("sizes", PROBLEMS.values(), ids=list(PROBLEMS))
def test_probabilities_equal_those_of_scikit_learn(sizes):
    linear_model = pytest.importorskip("sklearn.linear_model")
    features, targets = made_problem(*sizes)
    weights, intercepts = logistic_regression.fit(features, targets)
    probabilities = 1 / (1 + np.exp(-(features @ weights + intercepts)))
    for label, labelled in enumerate(targets.T):
        model = linear_model.LogisticRegression(C=1, tol=1e-8, max_iter=10_000)
        expected = model.fit(features.astype(float), labelled).predict_proba(features)[:, 1]
        assert probabilities[:, label] == pytest.approx(expected, abs=0.001)


def test_constant_feature_gets_no_weight():
    features, targets = made_problem(100, 3, 2)
    features[:, 1] = 7
    weights, _ = logistic_regression.fit(features, targets)
    assert np.abs(weights[1]).max() < 1e-6 < np.abs(weights[0]).max()
