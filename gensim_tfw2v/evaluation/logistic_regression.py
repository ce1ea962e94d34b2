"""Logistic regression with an L2 penalty, for many labels of the same nodes at the same time.

The minimum is that of scikit-learn's ``LogisticRegression(C=1)``, one-vs-rest.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

#: Maximum of a gradient at the minimum, in coordinates in which the Hessian is nearly the identity.
TOLERANCE = 1e-3

#: Maximum number of iterations; usually 10 to 30 are enough.
MAX_ITERATIONS = 500


def fit(
    features: NDArray[np.floating], targets: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit a logistic regression to each column of targets.

    For the targets y in {-1, 1} of a label, it minimizes the sum of log(1 + exp(-y (w · x + b)))
    over all samples x, plus w · w / 2. L-BFGS minimizes the sum over all labels as one problem, so
    that an iteration is two matrix products.

    Parameters
    ----------
    features : ndarray [n, D]
        Features of the samples.
    targets : ndarray of bool [n, L]
        Labels of the samples. Each label must have samples of both values.

    Returns
    -------
    weights : ndarray [D, L]
    intercepts : ndarray [L]
        Values w and b of each label: ``features @ weights + intercepts`` are the log odds.
    """
    n_samples, n_features = features.shape
    n_labels = targets.shape[1]
    mean = features.mean(axis=0, dtype=np.float64)
    centred = features - mean
    # A rotation to the principal axes does not change the penalty. The Hessian of a label whose
    # frequency is p is about p (1 - p) diag(eigenvalues) + I in these coordinates. They are scaled
    # by its square root, because L-BFGS starts from the identity.
    eigenvalues, axes = np.linalg.eigh(centred.T @ centred)
    rotated = centred @ axes
    frequencies = targets.mean(axis=0)
    variances = frequencies * (1 - frequencies)
    scales = np.empty((n_features + 1, n_labels))
    scales[:-1] = 1 / np.sqrt(np.maximum(eigenvalues, 0)[:, None] * variances + 1)
    scales[-1] = 1 / np.sqrt(n_samples * variances)
    signs = np.where(targets, -1.0, 1.0)

    def loss_and_gradient(scaled: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        parameters = scaled.reshape(scales.shape) * scales
        weights = parameters[:-1]
        log_odds = rotated @ weights + parameters[-1]
        loss = np.logaddexp(0, signs * log_odds).sum() + (weights * weights).sum() / 2
        errors = expit(log_odds) - targets
        gradient = np.vstack([rotated.T @ errors + weights, errors.sum(axis=0)]) * scales
        return loss, gradient.ravel()

    start = np.zeros_like(scales)
    start[-1] = np.log(frequencies / (1 - frequencies)) / scales[-1]
    options = {"gtol": TOLERANCE, "ftol": 1e-12, "maxiter": MAX_ITERATIONS}
    result = minimize(
        loss_and_gradient, start.ravel(), jac=True, method="L-BFGS-B", options=options
    )
    parameters = result.x.reshape(scales.shape) * scales
    weights = axes @ parameters[:-1]
    return weights, parameters[-1] - mean @ weights
