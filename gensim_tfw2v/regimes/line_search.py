"""A line search, one trial at a time: whoever has f evaluated tells what it is there.

It looks for a step that meets the weak Wolfe conditions (Nocedal and Wright 2006, "Numerical
Optimization", section 3.1): f has fallen enough for the length of the step, and no longer falls
nearly as steeply as at the beginning. Steps are bracketed as by Lewis and Overton 2013, "Nonsmooth
optimization via quasi-Newton methods", section 2, and chosen within the bracket by a cubic.
"""

import math
from typing import NamedTuple

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
