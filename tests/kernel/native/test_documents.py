"""Documents in the kernels: draws with tags, and training compared with slow loops."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gensim_tfw2v.corpus.shard_files import END, FIRST_TAG
from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.kernel.word_arrays import alias_table
from tests.kernel.native.test_kernels import check
from tests.kernel.native.units import (
    DEFAULTS,
    DOCUMENTS,
    kernels_here,
    make_case,
    padded,
    trained_by,
    words_of,
)

KEY = np.array([3, -4], np.int32)
DBOW = DEFAULTS._replace(documents=1, train_words=0)
DM = DEFAULTS._replace(documents=1, skipgram=0)


def entries_of(documents):
    """Return the entries of documents, each a pair of its tags and its words."""
    parts = [[*(FIRST_TAG - tag for tag in tags), *words, END] for tags, words in documents]
    return np.concatenate([np.zeros(0), *parts]).astype(np.int32)


def draw(options, documents, vocabulary, keep=1.5):
    noise = alias_table(np.ones(vocabulary))
    keep = np.full(vocabulary, keep, np.float32)
    return by_ctypes.draw(options, entries_of(documents), KEY, words_of(keep=keep, noise=noise))


DOCUMENT = st.tuples(
    st.lists(st.integers(0, 30), max_size=4), st.lists(st.integers(0, 8), max_size=20)
)


@settings(max_examples=100)
@given(
    st.lists(DOCUMENT, max_size=30),
    st.sampled_from([0.5, 1.5]),
    st.sampled_from([1, 3, 8]),
    st.booleans(),
    st.booleans(),
)
def test_tags_do_not_change_drawn_words(documents, keep, block, train_words, windows):
    changes = {"block": block, "sequential": windows}
    words = draw(DEFAULTS._replace(**changes), [([], w) for _, w in documents], 9, keep)
    unit = draw(DM._replace(**changes), documents, 9, keep)
    for name in ("inputs", "targets", "reaches", "negatives"):
        np.testing.assert_array_equal(getattr(unit, name), getattr(words, name))
    lists = [unit.tags[a:b].tolist() for a, b in pairwise(unit.first_tags)]
    if len(unit.inputs):
        assert lists[: len(documents)] == [[9 + tag for tag in tags] for tags, _ in documents]
    kept = [[] for _ in documents]
    for word, document in zip(unit.inputs.tolist(), unit.documents, strict=True):
        kept[document].append(word)
    if keep > 1:
        assert kept == [of for _, of in documents]

    expected = [
        (9 + tag, word)
        for (tags, _), of in zip(documents, kept, strict=True)
        for word in of
        for tag in tags
    ]
    options = DBOW._replace(**changes, train_words=train_words)
    unit = draw(options, documents, 9, keep)
    begin = len(words.inputs) if train_words else 0
    assert (unit.counts[0], len(unit.inputs)) == (len(expected), begin + len(expected))
    for name in ("inputs", "targets", "reaches"):
        of_words = getattr(words, name)[:begin]
        np.testing.assert_array_equal(getattr(unit, name)[:begin], of_words)
    pairs = list(zip(unit.inputs[begin:].tolist(), unit.targets[begin:].tolist(), strict=True))
    assert sorted(pairs) == sorted(expected)
    if windows:
        assert pairs == expected
    assert not unit.reaches[begin:].any() and not len(unit.documents)
    assert unit.negatives.shape == (-(-len(unit.inputs) // block), 5)


def test_pairs_of_a_block_are_evenly_spaced_in_the_text():
    documents = [([d], range(20 * d, 20 * d + 20)) for d in range(50)]
    unit = draw(DBOW, documents, 1003)
    blocks = unit.targets.reshape(-1, 8)  # each word is the index of its pair in the text
    assert (np.diff(blocks, axis=1) == 1000 // 8).all()
    assert (unit.inputs == 1003 + unit.targets // 20).all()
    left = draw(DBOW, [*documents, ([7], [1000, 1001, 1002])], 1003)
    assert left.targets[1000:].tolist() == [1000, 1001, 1002]


@pytest.mark.parametrize("size", [7, 100])
@pytest.mark.parametrize("objective", DOCUMENTS)
def test_kernels_equal_loops_for_any_vector_size(objective, size):
    assert check(make_case(size=size, **DOCUMENTS[objective])) > 1e-3


@pytest.mark.parametrize(
    "changes",
    [
        {"window": 13, "sentence": 60, "block": 32, "shared": 32, "tokens": 70},
        {"sentence": 25, "window": 1},
        {"block": 1},
        {"block": 32, "shared": 33, "negative": 20, "tokens": 33},
        {"shards": 3, "skip_targets": 1, "sequential": 1},
        {"vocabulary": 3, "skip_targets": 1},
        {"locked": True},
        {"tokens": 0},
        {"tokens": 2},
        {"sentence": 1},
        {"sentence": 2, "group": 1},
        {"tags": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("objective", DOCUMENTS)
def test_kernels_equal_loops_for_any_option(objective, changes):
    options = DOCUMENTS[objective]
    if not options.get("negative", 1):
        changes = changes | {"negative": 0}
    moved = check(make_case(**{"size": 40} | options | changes))
    assert (moved > 1e-3) or changes.get("tokens", 60) < 3


@settings(max_examples=60)
@given(
    tokens=st.integers(0, 70),
    vocabulary=st.integers(2, 40),
    size=st.integers(1, 40),
    sentence=st.integers(1, 70),
    locked=st.booleans(),
    objective=st.sampled_from([*DOCUMENTS]),
    options=st.fixed_dictionaries(
        {
            "window": st.sampled_from([1, 2, 5, 50]),
            "block": st.sampled_from([1, 2, 7, 8, 32]),
            "shared": st.integers(3, 66),
            "skip_targets": st.integers(0, 1),
            "group": st.sampled_from([1, 3, 100]),
        }
    ),
    seed=st.integers(0, 100),
)
def test_kernels_equal_loops_for_any_unit(
    tokens, vocabulary, size, sentence, locked, objective, options, seed
):
    changes = options | DOCUMENTS[objective]
    check(make_case(tokens, vocabulary, size, locked, sentence, seed, **changes))


@pytest.mark.parametrize("objective", DOCUMENTS)
def test_ranges_equal_loops(objective):
    case = make_case(size=20, **DOCUMENTS[objective])
    assert check(case, 0, 24) > 1e-4
    check(case, 24, 60, loss_every=2)


# A range of a unit with two objectives trains its blocks first, then its windows.
@pytest.mark.parametrize("objective", [name for name in DOCUMENTS if name != "DBOW with both"])
def test_training_two_ranges_equals_training_the_whole_unit(objective):
    case = make_case(size=20, **DOCUMENTS[objective])
    for kernel in kernels_here():
        whole, parts = case.trained(), case.trained()
        with trained_by(kernel):
            whole.train(case.options, case.unit, case.alphas)
            for ends in ((0, 24), (24, 60)):
                parts.train(case.options, case.unit, case.alphas, *ends)
        for one, other in zip(padded(whole), padded(parts), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kernel", kernels_here())
def test_tags_of_a_block_with_large_scores_are_trained_once(kernel):
    case = make_case(tokens=8, sentence=8, size=40, **DOCUMENTS["DBOW"])
    assert case.unit.counts[0] > 0
    found = []
    for factor in (1, 6):  # mean abs(score) is then out of range
        for table in case.tables[:2]:
            table *= factor
        with trained_by(kernel):
            found.append(case.trained().train(case.options, case.unit, case.alphas, loss_every=1))
    assert found[0].predictions == found[1].predictions


@pytest.mark.parametrize("objective", DOCUMENTS)
def test_nonfinite_tags_give_nonfinite_magnitude(objective):
    case = make_case(tokens=200, **DOCUMENTS[objective])
    case.tables[0][12:, 3] = np.nan
    for kernel in kernels_here():
        with trained_by(kernel):
            result = case.trained().train(case.options, case.unit, case.alphas)
        assert not np.isfinite(result.magnitude)


def changed(array, value, place=-1):
    array = array.copy()
    array[place] = value
    return array


def of_unit(**changes):
    return lambda case: case._replace(
        unit=case.unit._replace(
            **{name: change(getattr(case.unit, name)) for name, change in changes.items()}
        )
    )


def of_options(**changes):
    return lambda case: case._replace(options=case.options._replace(**changes))


#: Changes that make a unit of DM invalid, and the error message.
WRONG = {
    "a document below 0": (of_unit(documents=lambda a: changed(a, -1)), "lists of tags"),
    "a document above": (of_unit(documents=lambda a: changed(a, 3)), "lists of tags"),
    "too few documents": (of_unit(documents=lambda a: a[:-1].copy()), "sizes do not match"),
    "no lists of tags": (of_unit(first_tags=lambda a: a[:0].copy()), "lists of tags"),
    "a tag below 0": (of_unit(tags=lambda a: changed(a, -1)), "within tags"),
    "a tag above": (of_unit(tags=lambda a: changed(a, 21)), "within tags"),
    "too few tags": (of_unit(tags=lambda a: a[:-1].copy()), "within tags"),
    "descending ends": (of_unit(first_tags=lambda a: changed(a, a[-1] + 1, 1)), "within tags"),
    "ends below 0": (of_unit(first_tags=lambda a: changed(a, -1, 0)), "within tags"),
    "pairs below 0": (of_unit(counts=lambda a: changed(a, -1, 0)), "pairs, counts.0., must be"),
    "too many pairs": (of_unit(counts=lambda a: changed(a, 61, 0)), "pairs, counts.0., must be"),
    "pairs of CBOW": (of_unit(counts=lambda a: changed(a, 1, 0)), "pairs need skip-gram"),
    "pairs of shards": (
        lambda case: make_case(tags=9, shards=3, size=9),
        "pairs in blocks need shards = 1",
    ),
    "pairs with windows": (
        lambda case: case._replace(
            options=case.options._replace(skipgram=1),
            unit=case.unit._replace(
                documents=case.unit.documents[:0].copy(), counts=np.array([30, 30], np.int32)
            ),
        ),
        "pairs must be 0",
    ),
    "tags of skip-gram": (of_options(skipgram=1), "need CBOW without subwords"),
    "tags and weights": (
        lambda case: case._replace(weights=np.ones(21, np.float32)),
        "need CBOW without subwords",
    ),
}  # fmt: skip

#: Cases with units of concatenated rows.
WRONG_ROWS = {
    "no documents": (of_options(documents=0), "concatenated needs CBOW"),
    "skip-gram": (of_options(skipgram=1), "concatenated needs CBOW"),
    "too few rows": (of_options(concatenated=9), "concatenated needs CBOW"),
    "padding below 0": (of_options(padding=-1), "concatenated needs documents"),
    "padding above": (of_options(padding=21), "concatenated needs documents"),
    "no tags": (of_unit(documents=lambda a: a[:0].copy()), "concatenated needs documents"),
    "outputs of fewer rows": (of_options(concatenated=13), "rows of the table of outputs"),
}


@pytest.mark.parametrize(
    ("concatenated", "wrong"), [*((0, name) for name in WRONG), *((1, name) for name in WRONG_ROWS)]
)
def test_invalid_units_are_rejected(concatenated, wrong):
    change, message = (WRONG_ROWS if concatenated else WRONG)[wrong]
    objective = "DM concatenated, with both" if concatenated else "DM with both"
    case = change(make_case(size=9, **DOCUMENTS[objective]))
    tables = case.trained()
    with pytest.raises(ValueError, match=message):
        tables.train(case.options, case.unit, case.alphas)
    for array, table in zip(case.tables, padded(tables), strict=True):
        np.testing.assert_array_equal(table[:, :9], array)


def test_documents_with_a_different_number_of_tags_are_skipped():
    case = make_case(sentence=6, **DOCUMENTS["DM concatenated"])
    numbers = np.diff(case.unit.first_tags)
    assert set(numbers) == {1, 2}
    skipped = np.isin(case.unit.documents, np.flatnonzero(numbers == 1)).sum()
    result = case.trained().train(case.options, case.unit, case.alphas, loss_every=1)
    assert result.predictions == 60 - skipped
