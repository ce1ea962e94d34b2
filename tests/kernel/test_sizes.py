"""Sizes of the compiled kernels follow from the text and the options."""

import pytest

from gensim_tfw2v.kernel.objective import Objective
from gensim_tfw2v.kernel.sizes import NATIVE_BLOCK, choose_kernel_shape, choose_span, effective_step


@pytest.mark.parametrize("overlap", [None, 0.001, 0.02, 0.04])
@pytest.mark.parametrize(
    ("skipgram", "tokens", "sequential"),
    [
        (True, 12_000_000, False),
        (True, 1000, True),
        (False, 12_000_000, False),
        (False, 1000, True),
    ],
)
def test_every_shape_has_the_span_of_the_n_grams(skipgram, tokens, sequential, overlap):
    objective = Objective(skipgram, 5, mean=not skipgram)
    shape = choose_kernel_shape(objective, tokens, window=5, pairs=6.0, ngram_overlap=overlap)
    assert shape.sequential == sequential
    expected = 1
    if overlap is not None:
        expected = choose_span(overlap, effective_step(objective, 6.0, 0.025), skipgram)
        assert expected > 1
    assert shape.span == expected
    assert shape.block <= (NATIVE_BLOCK if overlap is None else min(NATIVE_BLOCK, expected))


@pytest.mark.parametrize("skipgram", [True, False])
@pytest.mark.parametrize("tokens", [1000, 12_000_000])
def test_each_shard_of_the_noise_has_a_negative_in_each_block(skipgram, tokens):
    objective = Objective(skipgram, 5, mean=not skipgram)
    shape = choose_kernel_shape(objective, tokens, window=5, pairs=6.0, negative_shards=300)
    assert shape.shared >= 300
