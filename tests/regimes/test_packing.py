"""Integers of a step come out as they went in."""

from typing import NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.regimes.packing import pack_steps


class Part(NamedTuple):
    numbers: tf.Tensor
    one: tf.Tensor


class Whole(NamedTuple):
    part: Part
    real: tf.Tensor
    nothing: tuple[()]


def test_a_step_comes_out_as_it_went_in():
    rng = np.random.default_rng(0)
    numbers = rng.integers(-(2**31), 2**31, (3, 2, 5)).astype(np.int32)
    one = rng.integers(0, 9, (3, 1)).astype(np.int32)
    real = rng.normal(size=3).astype(np.float32)
    step_of = pack_steps(Whole(Part(tf.constant(numbers), tf.constant(one)), tf.constant(real), ()))
    for step in range(3):
        found = step_of(tf.constant(step))
        np.testing.assert_array_equal(found.part.numbers, numbers[step])
        np.testing.assert_array_equal(found.part.one, one[step])
        assert found.real.numpy() == real[step]
        assert found.nothing == ()
