import inspect
import itertools
import warnings

import numpy as np
import pytest
from gensim.models import KeyedVectors
from gensim.test.utils import datapath
from hypothesis import given, settings
from hypothesis import strategies as st

from gensim_tfw2v import row_blocks
from gensim_tfw2v.evaluation import EvaluationFileError, analogies, evaluate_analogies
from gensim_tfw2v.keyed import keyed
from tests.evaluation import reference


def gensim_counts(vectors, path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gensim divides by norms that are zero
        _, sections = vectors.evaluate_word_analogies(str(path), **options)
    return [
        (s["section"], len(s["correct"]), len(s["correct"]) + len(s["incorrect"]))
        for s in sections[:-1]
    ]


def our_counts(score):
    return [
        (s.name, s.correct, s.known if score.metric == "gensim" else s.questions)
        for s in score.sections
    ]


@pytest.mark.parametrize("case_insensitive", [True, False])
def test_metric_gensim_equals_gensim(random_vectors, case_insensitive):
    expected = gensim_counts(
        random_vectors,
        datapath("questions-words.txt"),
        restrict_vocab=600,
        case_insensitive=case_insensitive,
    )
    score = evaluate_analogies(
        random_vectors, restrict_vocab=600, case_insensitive=case_insensitive
    )
    assert our_counts(score) == expected
    assert score.correct > 0  # otherwise the comparison shows nothing


def test_metric_all_equals_gensim_with_dummy4unknown(lee):
    expected = gensim_counts(lee, datapath("questions-words.txt"), dummy4unknown=True)
    score = evaluate_analogies(lee, metric="all")
    assert our_counts(score) == expected
    assert score.counted == 19_544
    assert evaluate_analogies(lee).counted == sum(s.known for s in score.sections) > 0


def test_metric_gensim_searches_as_many_words_as_gensim():
    options = inspect.signature(KeyedVectors.evaluate_word_analogies).parameters
    assert options["restrict_vocab"].default == analogies.GENSIM_RESTRICT_VOCAB


def test_only_metric_gensim_restricts_the_vocabulary_by_default(monkeypatch, lee):
    monkeypatch.setattr(analogies, "GENSIM_RESTRICT_VOCAB", 300)
    known = {m: sum(s.known for s in evaluate_analogies(lee, metric=m).sections)
             for m in ("gensim", "all")}  # fmt: skip
    assert known["gensim"] < known["all"]


def test_smaller_blocks_give_the_same_score(monkeypatch, random_vectors):
    whole = evaluate_analogies(random_vectors)
    monkeypatch.setattr(analogies, "BLOCK_BYTES", 4 * 7 * len(random_vectors))
    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", 5 * random_vectors.vectors[0].nbytes)
    assert evaluate_analogies(random_vectors) == whole


def test_score_equals_slow_reference(keyed, tmp_path):
    rng = np.random.default_rng(0)
    words = {name: rng.normal(size=3) for name in "abcdefg"}
    path = tmp_path / "questions.txt"
    asked = list(itertools.permutations(words, 4))
    path.write_text(": all\n" + "".join(" ".join(question) + "\n" for question in asked))
    right = sum(reference.answer(words, a, b, c) == d for a, b, c, d in asked)
    score = evaluate_analogies(keyed(words), path, case_insensitive=False)
    assert (score.correct, score.counted) == (right, len(asked))
    assert 0 < right < len(asked)


def test_sections_give_semantic_and_syntactic_totals(keyed, tmp_path):
    words = {"king": (1, 1), "queen": (1, -1), "man": (0.2, 1), "woman": (0.2, -1), "x": (-1, 0)}
    path = tmp_path / "questions.txt"
    path.write_text(
        ": family\nman woman king queen\nman woman king x\nman woman king unknown\n"
        ": gram1-made-up\nking queen man woman\n"
    )
    score = evaluate_analogies(keyed(words), path)
    assert (score.semantic, score.syntactic, score.total) == (1 / 2, 1, 2 / 3)
    score = evaluate_analogies(keyed(words), path, metric="all")
    assert (score.semantic, score.syntactic, score.total) == (1 / 3, 1, 2 / 4)
    assert score.to_dict()["sections"]["family"] == {
        "accuracy": 1 / 3,
        "correct": 1,
        "counted": 3,
    }


# small integers make ties and equal vectors; case variants fill gensim's list of five candidates
spellings = sorted({"".join(s) for w in ("ab", "c", "d", "e") for s in
                    itertools.product(*((x, x.upper()) for x in w))})  # fmt: skip


@settings(max_examples=150)
@given(data=st.data())
def test_odd_vocabularies_score_as_in_gensim(data, tmp_path):
    words = data.draw(st.lists(st.sampled_from(spellings), min_size=2, unique=True))
    values = st.lists(st.integers(-2, 2), min_size=2, max_size=2)
    rows = data.draw(st.lists(values, min_size=len(words), max_size=len(words)))
    vectors = KeyedVectors(2)
    vectors.add_vectors(words, np.array(rows, dtype=np.float32))
    question = st.lists(st.sampled_from([*spellings, "unknown"]), min_size=4, max_size=4)
    asked = data.draw(st.lists(question, min_size=1, max_size=20))
    path = tmp_path / "questions.txt"
    path.write_text(": s\n" + "".join(" ".join(q) + "\n" for q in asked))
    options = {
        "restrict_vocab": data.draw(st.integers(1, len(words) + 1)),
        "case_insensitive": data.draw(st.booleans()),
    }
    for metric in ("gensim", "all"):
        expected = gensim_counts(vectors, path, dummy4unknown=metric == "all", **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            score = evaluate_analogies(vectors, path, metric=metric, **options)
        assert our_counts(score) == expected


def test_unknown_metric_raises(lee):
    with pytest.raises(ValueError, match="known metrics: 'gensim', 'all'"):
        evaluate_analogies(lee, metric="both")


def test_no_known_question_gives_total_0(keyed, tmp_path):
    path = tmp_path / "questions.txt"
    path.write_text("eins zwei drei vier\n")
    vectors = keyed({"one": (1, 0), "two": (0, 1)})
    assert evaluate_analogies(vectors, path).total == 0
    assert evaluate_analogies(vectors, path, metric="all").counted == 1


def test_empty_file_raises(lee, tmp_path):
    (tmp_path / "empty").touch()
    with pytest.raises(EvaluationFileError):
        evaluate_analogies(lee, tmp_path / "empty")


def test_case_is_ignored_by_default(keyed, tmp_path):
    path = tmp_path / "questions.txt"
    path.write_text("Man woman KING queen\n")
    words = {"king": (1, 1), "queen": (1, -1), "man": (0.2, 1), "woman": (0.2, -1)}
    score = evaluate_analogies(keyed(words), path)
    assert (score.correct, score.counted) == (1, 1)
    assert evaluate_analogies(keyed(words), path, case_insensitive=False).counted == 0


def test_integer_words_score_as_their_digits(tmp_path):
    """Equal vectors make gensim's code decide, to which words are passed."""
    draws = np.random.default_rng(4)
    rows = draws.normal(size=(40, 3)).astype(np.float32).repeat(2, axis=0)
    words = draws.permutation(80).tolist()
    questions = [draws.choice(words, 4, replace=False) for _ in range(60)]
    lines = [": s", *(" ".join(map(str, question)) for question in questions)]
    (tmp_path / "q").write_text("\n".join(lines))
    scores = [
        evaluate_analogies(keyed(names, rows), tmp_path / "q")
        for names in (words, [*map(str, words)])
    ]
    assert scores[0] == scores[1] and scores[0].counted == 60
