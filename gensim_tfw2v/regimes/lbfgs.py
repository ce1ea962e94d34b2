"""L-BFGS as a state machine over vectors that it never sees: it is told f, and says where next.

Nocedal and Wright 2006, "Numerical Optimization", section 7.2. A vector is whatever can be added,
scaled, copied and multiplied with another one, wherever its numbers are, as in Dean et al. 2012,
"Large Scale Distributed Deep Networks", section 4.2; here there are scalars only.

Along a direction, steps are shortened until f has fallen enough for their length (section 3.1).
"""

import math
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

#: Of the decrease that the slope promises, as much has to come.
MIN_DECREASE = 1e-4

#: How long a shortened step is, as a share of the one before. A trial of 0.5, 0.3 and the minimum
#: of a parabola: f after 20 epochs is the lowest with 0.3, by less than seeds differ.
SHORTER = 0.3

#: Evaluations of f along a direction, at most; then it is taken for a wrong one.
MAX_TRIALS = 20

#: A pair of which ``s.y`` is below this share of ``-s.g`` says nothing of the curvature.
MIN_CURVATURE = 1e-10


def leave(vector: Any) -> None:
    """Multiply a vector by the identity."""


class Pair(NamedTuple):
    """A step that was taken, and what it changed.

    Attributes
    ----------
    s, y : Vector
        Of the point, and of the gradient.
    sy : float
        Their dot product, above 0.
    """

    s: Any
    y: Any
    sy: float


class LBFGS:
    """Minimizes a function f, one evaluation at a time.

    Evaluate f at `trial`, put its gradient there into `gradient`, and `report` the value; again and
    again.

    Parameters
    ----------
    point : Vector
        From where. It becomes the best point so far, and f never rises from one to the next. A
        vector has ``dot(other)``, and in place ``add(factor, other)``, ``scale(factor)`` and
        ``copy(other)``: see `ShardedVector`.
    make : function () -> Vector
        Makes a vector like it. There are ``4 + 2 * history`` of them.
    history : int
        Pairs that are kept.
    precondition : function (Vector) -> None
        Multiplies a vector by a guess of the inverse Hessian, positive definite, but for a factor,
        which is found out (equation 7.20); by default the identity.

    Attributes
    ----------
    trial, gradient : Vector
    step : float
        Length of the trial step along its direction; 0 at the beginning.
    loss : float, optional
        f at `point`; None before it is known.
    """

    def __init__(
        self,
        point: Any,
        make: Callable[[], Any],
        history: int,
        precondition: Callable[[Any], None] = leave,
    ) -> None:
        self.point = point
        self.trial = make()
        self.gradient = make()
        self._direction = make()
        self._first_gradient = make()
        self._free = [(make(), make()) for _ in range(history)]
        self._precondition = precondition
        self._factor = 1.0
        self._pairs: deque[Pair] = deque()
        self.restart()

    def restart(self) -> None:
        """Forget all but the point: f is evaluated there next."""
        self.loss: float | None = None
        self.step = 0.0
        self._forget_pairs()
        self.trial.copy(self.point)

    def report(self, loss: float) -> None:
        """Say what f is at the trial, whose gradient is there; have another trial.

        Parameters
        ----------
        loss : float
            Where it is not finite, the step was too long. At the first point it has to be.
        """
        if self.loss is None:
            self.loss = loss
            self._begin_line()
            return
        slope = self.gradient.dot(self._direction)
        least = MIN_DECREASE * self.step * self._slope
        if math.isfinite(loss + slope) and loss <= self.loss + least:
            self.point.copy(self.trial)
            self.loss = loss
            self._keep_pair(slope)
            self._begin_line()
        elif self._trials == MAX_TRIALS:
            self.restart()
        else:
            self._go(SHORTER * self.step)

    def _begin_line(self) -> None:
        """Have a direction, and the first trial along it."""
        self._turn()
        self._slope = self.gradient.dot(self._direction)
        if self._pairs and not self._slope < 0.0:  # rounding has spoiled them
            self._forget_pairs()
            self._turn()
            self._slope = self.gradient.dot(self._direction)
        self._first_gradient.copy(self.gradient)
        self._trials = 0
        step = 1.0
        if not self._pairs:  # a step as long as the point
            squares = self._direction.dot(self._direction)
            length = math.sqrt(self.point.dot(self.point)) or 1.0
            step = length / math.sqrt(squares) if squares > 0.0 else 0.0
        self._go(step)

    def _go(self, step: float) -> None:
        self.step = step
        self._trials += 1
        self.trial.copy(self.point)
        self.trial.add(step, self._direction)

    def _turn(self) -> None:
        """Set the direction, by the two-loop recursion (algorithm 7.4)."""
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

    def _keep_pair(self, slope: float) -> None:
        """Keep the step and what it has changed, in place of the oldest pair, if that says much."""
        sy = self.step * (slope - self._slope)
        if not sy > -MIN_CURVATURE * self.step * self._slope:
            return
        if not self._free:
            oldest = self._pairs.popleft()
            self._free.append((oldest.s, oldest.y))
        s, y = self._free.pop()
        s.copy(self._direction)
        s.scale(self.step)
        y.copy(self.gradient)
        y.add(-1.0, self._first_gradient)
        self._pairs.append(Pair(s, y, sy))
        self.trial.copy(y)  # of which nothing is needed now
        self._precondition(self.trial)
        self._factor = sy / y.dot(self.trial)

    def _forget_pairs(self) -> None:
        self._free += [(pair.s, pair.y) for pair in self._pairs]
        self._pairs.clear()
        self._factor = 1.0
