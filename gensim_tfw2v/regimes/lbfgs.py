"""L-BFGS as a state machine over vectors that it never sees: it is told f, and says where next.

Nocedal and Wright 2006, "Numerical Optimization", section 7.2. A vector is whatever can be added,
scaled, copied and multiplied with another one, wherever its numbers are, as in Dean et al. 2012,
"Large Scale Distributed Deep Networks", section 4.2; here there are scalars only.

Along a direction, a line search looks for a step that meets the weak Wolfe conditions (section
3.1): f has fallen enough for the length of the step, and no longer falls nearly as steeply as at
the beginning. Steps are bracketed as by Lewis and Overton 2013, "Nonsmooth optimization via
quasi-Newton methods", section 2, and chosen within the bracket by a cubic.
"""

import math
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

#: Of the decrease that the slope promises, as much has to come; and as much of the slope may be
#: left.
LEAST_DECREASE, MOST_SLOPE = 1e-4, 0.9

#: How many times as long a step may be as the one before it, at least and at most, where f still
#: falls.
LONGER = (2.0, 10.0)

#: How near to an end of the bracket a step may be, as a share of it.
MARGIN = 0.1


class Tried(NamedTuple):
    """A step, f there, and its slope along the direction."""

    step: float
    loss: float
    slope: float


class LineSearch:
    """Looks for a step along a direction.

    Parameters
    ----------
    loss, slope : float
        f at the beginning, and its slope along the direction: not above 0.
    step : float
        The first trial.

    Attributes
    ----------
    step : float
        The trial of which `tell` is to be told.
    low : Tried
        The longest step so far at which f has fallen enough; at first 0.
    trials : int
        How many have been told.
    """

    def __init__(self, loss: float, slope: float, step: float) -> None:
        self.step, self.trials = step, 0
        self.begin = self.low = Tried(0.0, loss, slope)
        self._high: Tried | None = None

    def tell(self, loss: float, slope: float) -> bool:
        """Say what f and its slope are at the trial step.

        Parameters
        ----------
        loss, slope : float
            If one of them is not finite, the step counts as too long.

        Returns
        -------
        bool
            Whether the step meets the conditions. Else `step` is the next trial; if f has fallen
            enough for it to go on from there, `low` is this one.
        """
        self.trials += 1
        tried = Tried(self.step, loss, slope)
        promised = self.begin.loss + LEAST_DECREASE * tried.step * self.begin.slope
        # f of a longer step may be low enough for the beginning, and above that of a shorter one
        if not loss <= min(promised, self.low.loss) or not math.isfinite(loss + slope):
            self._high = tried
            self.step = between(self.low, tried)
            return False
        if slope >= MOST_SLOPE * self.begin.slope:
            return True
        before, self.low = self.low, tried
        self.step = beyond(before, tried) if self._high is None else between(tried, self._high)
        return False


def beyond(one: Tried, other: Tried) -> float:
    """A step longer than two others, about where the slope is 0 if it goes on to change so."""
    factor = math.inf
    if other.slope > one.slope:
        way = (other.step - one.step) * other.slope / (one.slope - other.slope)
        factor = 1.0 + way / other.step
    return other.step * min(max(factor, LONGER[0]), LONGER[1])


def between(low: Tried, high: Tried) -> float:
    """A step between two others: the minimum of the cubic through them, not too near to either.

    Nocedal and Wright 2006, equation 3.59. Where f is not finite at the longer one, near the
    shorter one.
    """
    width = high.step - low.step
    if not math.isfinite(high.loss + high.slope):
        return low.step + MARGIN * width
    first = low.slope + high.slope - 3.0 * (high.loss - low.loss) / width
    square = first * first - low.slope * high.slope
    share = 0.5
    if square >= 0.0:
        second = math.sqrt(square)
        bottom = high.slope - low.slope + 2.0 * second
        if bottom:
            share = 1.0 - (high.slope + second - first) / bottom
    return low.step + width * min(max(share, MARGIN), 1.0 - MARGIN)


#: Evaluations of f along a direction, at most; then it is taken for a wrong one.
MOST_TRIALS = 20

#: A pair of which ``s.y`` is below this share of ``-s.g`` says nothing of the curvature.
LEAST_CURVATURE = 1e-10


class Vector(Protocol):
    """Vector that L-BFGS works on, in place."""

    def dot(self, other: Any, /) -> float:
        """The dot product with another one."""

    def add(self, factor: float, other: Any, /) -> None:
        """Add so many times another one."""

    def scale(self, factor: float, /) -> None:
        """Multiply it by a number."""

    def copy(self, other: Any, /) -> None:
        """Make it equal to another one."""


V = TypeVar("V", bound=Vector)


def leave(vector: Any) -> None:
    """Multiply a vector by the identity."""


class Pair(NamedTuple, Generic[V]):
    """A step that was taken, and what it changed.

    Attributes
    ----------
    s, y : Vector
        Of the point, and of the gradient.
    sy : float
        Their dot product, above 0.
    """

    s: V
    y: V
    sy: float


class LBFGS(Generic[V]):
    """Minimizes a function f, one evaluation at a time.

    Evaluate f at `trial`, put its gradient there into `gradient`, and `tell` the value; again and
    again.

    Parameters
    ----------
    point : Vector
        From where. It becomes the best point so far, and f never rises from one to the next.
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
    loss : float, optional
        f at `point`; None before it is known.
    """

    def __init__(
        self,
        point: V,
        make: Callable[[], V],
        history: int,
        precondition: Callable[[V], None] = leave,
    ) -> None:
        self.point, self.trial, self.gradient = point, make(), make()
        self._direction, self._first_gradient = make(), make()
        self._free = [(make(), make()) for _ in range(history)]
        self._precondition, self._factor = precondition, 1.0
        self._pairs: deque[Pair[V]] = deque()
        self._line: LineSearch | None = None
        self.restart()

    @property
    def step(self) -> float:
        """Length of the trial step along its direction; 0 at the beginning."""
        return 0.0 if self._line is None else self._line.step

    def restart(self) -> None:
        """Forget all but the point: f is evaluated there next."""
        self.loss: float | None = None
        self._line, self._reach = None, 0.0
        self._forget_pairs()
        self.trial.copy(self.point)

    def tell(self, loss: float) -> None:
        """Say what f is at the trial, whose gradient is there; have another trial.

        Parameters
        ----------
        loss : float
            Where it is not finite, the step was too long. At the first point it has to be.
        """
        line = self._line
        if line is None:
            self.loss = loss
            self._begin_line()
            return
        slope = self.gradient.dot(self._direction)
        before, tried = line.low, line.step
        is_taken = line.tell(loss, slope)
        if is_taken or line.low is not before:
            self.point.copy(self.trial)
            self.loss = loss
        if is_taken:
            self._reach = tried * math.sqrt(self._direction.dot(self._direction))
            self._keep_pair(tried, slope)
            self._begin_line()
        elif line.trials == MOST_TRIALS:
            reach = self._reach
            self.restart()
            self._reach = reach
        else:
            self._go(line)

    def _begin_line(self) -> None:
        """Have a direction, and the first trial along it."""
        assert self.loss is not None
        self._turn()
        slope = self.gradient.dot(self._direction)
        if self._pairs and not slope < 0.0:  # rounding has spoiled them
            self._forget_pairs()
            self._turn()
            slope = self.gradient.dot(self._direction)
        self._first_gradient.copy(self.gradient)
        step = 1.0 if self._pairs else self._first_step()
        self._line = LineSearch(self.loss, slope, step)
        self._go(self._line)

    def _go(self, line: LineSearch) -> None:
        self.trial.copy(self.point)
        self.trial.add(line.step - line.low.step, self._direction)

    def _first_step(self) -> float:
        """One as long as the step before, or as the point."""
        squares = self._direction.dot(self._direction)
        length = self._reach or math.sqrt(self.point.dot(self.point)) or 1.0
        return length / math.sqrt(squares) if squares > 0.0 else 0.0

    def _turn(self) -> None:
        """Set the direction, by the two-loop recursion (algorithm 7.4)."""
        direction, shares = self._direction, []
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

    def _keep_pair(self, step: float, slope: float) -> None:
        """Keep the line search's step and what it has changed, in place of the oldest pair."""
        assert self._line is not None
        first = self._line.begin.slope
        sy = step * (slope - first)
        if not sy > -LEAST_CURVATURE * step * first:
            return
        if not self._free:
            oldest = self._pairs.popleft()
            self._free.append((oldest.s, oldest.y))
        s, y = self._free.pop()
        s.copy(self._direction)
        s.scale(step)
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
