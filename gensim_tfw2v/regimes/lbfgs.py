"""L-BFGS as a state machine: the caller reports f and its gradient, and gets the next trial point.

Nocedal and Wright 2006, "Numerical Optimization", section 7.2. Vectors are used only through their
methods: addition, scaling, copying and the dot product. So their elements may be stored on other
machines, as in Dean et al. 2012, "Large Scale Distributed Deep Networks", section 4.2. This module
itself computes with scalars only.

The line search backtracks: it shortens a step until the decrease of f is large enough for the
step's length (sufficient decrease condition, section 3.1).
"""

import math
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

#: Minimum decrease of f, as a fraction of the decrease that the slope predicts (c1 in section 3.1).
MIN_DECREASE = 1e-4

#: Factor by which a rejected step is shortened. In a comparison with 0.5 and with the minimum of a
#: fitted parabola, 0.3 gave the lowest f after 20 epochs, but seeds made a larger difference.
STEP_FACTOR = 0.3

#: Maximum number of evaluations of f along a direction. After that many, the search restarts at the
#: best point.
MAX_TRIALS = 20

#: Minimum of ``s.y`` as a fraction of ``-s.g``, where g is the gradient before the step. A pair
#: (s, y) with a smaller product does not determine the curvature, and is not stored.
MIN_CURVATURE = 1e-10


def leave_unchanged(vector: Any) -> None:
    """Do nothing: a preconditioner that is the identity."""


class Pair(NamedTuple):
    """Changes of the point and of its gradient by an accepted step.

    Attributes
    ----------
    s, y : Vector
        Change of the point, and change of the gradient.
    sy : float
        Dot product of `s` and `y`, above 0.
    """

    s: Any
    y: Any
    sy: float


class LBFGS:
    """Minimizes a function f, one evaluation at a time.

    Call in a loop: evaluate f at `trial`, write its gradient there to `gradient`, and `report` f.

    Parameters
    ----------
    point : Vector
        Starting point. It is updated in place to the best point so far; f never increases. A vector
        has the methods ``dot(other)`` and, in place, ``add(factor, other)``, ``scale(factor)`` and
        ``copy(other)``: see `ShardedVector`.
    make : function () -> Vector
        Creates a vector of the same shape; called ``4 + 2 * history`` times.
    history : int
        Maximum number of stored pairs.
    precondition : function (Vector) -> None
        Multiplies a vector in place by a positive definite estimate of the inverse Hessian; by
        default the identity. The estimate need not have the right scale, which is computed from the
        last stored pair (equation 7.20).

    Attributes
    ----------
    trial, gradient : Vector
        Point at which to evaluate f next, and the gradient there, which the caller writes.
    step : float
        The trial is `point` plus `step` times the search direction; 0 at the starting point.
    loss : float, optional
        f at `point`; None before it has been reported.
    """

    def __init__(
        self,
        point: Any,
        make: Callable[[], Any],
        history: int,
        precondition: Callable[[Any], None] = leave_unchanged,
    ) -> None:
        self.point = point
        self.trial = make()
        self.gradient = make()
        self._direction = make()
        self._first_gradient = make()
        self._spare_pairs = [(make(), make()) for _ in range(history)]
        self._precondition = precondition
        self._factor = 1.0
        self._pairs: deque[Pair] = deque()
        self.restart()

    def restart(self) -> None:
        """Discard all state except the point. The next trial is the point itself."""
        self.loss: float | None = None
        self.step = 0.0
        self._forget_pairs()
        self.trial.copy(self.point)

    def report(self, loss: float) -> None:
        """Report f at the trial, whose gradient is in `gradient`; set the next trial.

        Parameters
        ----------
        loss : float
            Must be finite at the starting point. Elsewhere a non-finite loss shortens the step.
        """
        if self.loss is None:
            self.loss = loss
            self._begin_line()
            return
        slope = self.gradient.dot(self._direction)
        max_loss_change = MIN_DECREASE * self.step * self._slope
        if math.isfinite(loss + slope) and loss <= self.loss + max_loss_change:
            self.point.copy(self.trial)
            self.loss = loss
            self._keep_pair(slope)
            self._begin_line()
        elif self._trials == MAX_TRIALS:
            self.restart()
        else:
            self._set_trial(STEP_FACTOR * self.step)

    def _begin_line(self) -> None:
        """Set a new direction, and the first trial along it."""
        self._set_direction()
        if self._pairs and not self._slope < 0.0:  # by rounding, f does not fall along it
            self._forget_pairs()
            self._set_direction()
        self._first_gradient.copy(self.gradient)
        self._trials = 0
        step = 1.0
        if not self._pairs:  # make the first step as long as the norm of the point
            squares = self._direction.dot(self._direction)
            length = math.sqrt(self.point.dot(self.point)) or 1.0
            step = length / math.sqrt(squares) if squares > 0.0 else 0.0
        self._set_trial(step)

    def _set_trial(self, step: float) -> None:
        self.step = step
        self._trials += 1
        self.trial.copy(self.point)
        self.trial.add(step, self._direction)

    def _set_direction(self) -> None:
        """Set the direction by the two-loop recursion (algorithm 7.4), and the slope along it."""
        direction = self._direction
        shares = []
        direction.copy(self.gradient)
        for pair in reversed(self._pairs):
            share = pair.s.dot(direction) / pair.sy
            direction.add(-share, pair.y)
            shares.append(share)
        self._precondition(direction)
        direction.scale(self._factor)
        for pair in self._pairs:
            direction.add(shares.pop() - pair.y.dot(direction) / pair.sy, pair.s)
        direction.scale(-1.0)
        self._slope = self.gradient.dot(direction)

    def _keep_pair(self, slope: float) -> None:
        """Store the pair of an accepted step, if its curvature is large enough.

        If `history` pairs are stored, it replaces the oldest.
        """
        sy = self.step * (slope - self._slope)
        if not sy > -MIN_CURVATURE * self.step * self._slope:
            return
        if not self._spare_pairs:
            oldest = self._pairs.popleft()
            self._spare_pairs.append((oldest.s, oldest.y))
        s, y = self._spare_pairs.pop()
        s.copy(self._direction)
        s.scale(self.step)
        y.copy(self.gradient)
        y.add(-1.0, self._first_gradient)
        self._pairs.append(Pair(s, y, sy))
        self.trial.copy(y)  # the memory of `trial` is reused, because its value is no longer needed
        self._precondition(self.trial)
        self._factor = sy / y.dot(self.trial)

    def _forget_pairs(self) -> None:
        self._spare_pairs += [(pair.s, pair.y) for pair in self._pairs]
        self._pairs.clear()
        self._factor = 1.0
