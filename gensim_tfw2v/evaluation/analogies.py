"""Analogies ("a is to b as c is to ?") by vector offset, in the two usual metrics."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.evaluation.sets import Question, find_shipped, read_questions
from gensim_tfw2v.keyed import with_keys
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.row_blocks import row_blocks
from gensim_tfw2v.typed_words import find_rows

Metric = Literal["gensim", "all"]

NAMED_SETS = {"questions-words": "questions-words.txt"}
"""Files of the sets that come with gensim, by name: the questions of Mikolov et al. (2013)."""

#: Number of words that gensim searches by default.
GENSIM_RESTRICT_VOCAB = 300_000

#: Maximum size of a block of scores, in bytes.
BLOCK_BYTES = 16 * 2**20

#: Number of nearest words that gensim considers; its answer is the first that is not an input.
N_CANDIDATES = 5


@dataclass(frozen=True)
class SectionScore:
    """Counts of questions in a section of a file.

    Attributes
    ----------
    name : str
        Name of the section.
    questions, known, correct : int
        Numbers of all questions in the section, of questions whose four words are known, and of
        correct answers.
    """

    name: str
    questions: int
    known: int
    correct: int

    @property
    def syntactic(self) -> bool:
        """True if the section is about grammar: its name starts with "gram"."""
        return self.name.startswith("gram")


@dataclass(frozen=True)
class AnalogyScore:
    """Accuracy on a set of analogies.

    Attributes
    ----------
    metric : {"gensim", "all"}
        Metric, which selects the questions that count in accuracies; see `evaluate_analogies`.
    sections : tuple of SectionScore
        Scores of the sections, in the order of the file.
    """

    metric: Metric
    sections: tuple[SectionScore, ...]

    @property
    def correct(self) -> int:
        """Number of correct answers."""
        return sum(section.correct for section in self.sections)

    @property
    def counted(self) -> int:
        """Number of questions that count: the total accuracy is `correct` divided by this."""
        return self._count(self.sections)

    @property
    def total(self) -> float:
        """Accuracy over all sections, in [0, 1]; 0 if no question counts, as in gensim."""
        return self._accuracy(self.sections)

    @property
    def semantic(self) -> float:
        """Accuracy over the sections about meaning, in [0, 1]."""
        return self._accuracy([s for s in self.sections if not s.syntactic])

    @property
    def syntactic(self) -> float:
        """Accuracy over the sections about grammar, in [0, 1]."""
        return self._accuracy([s for s in self.sections if s.syntactic])

    def to_dict(self) -> dict[str, object]:
        """Return all values for JSON."""
        return {
            "total": self.total,
            "semantic": self.semantic,
            "syntactic": self.syntactic,
            "correct": self.correct,
            "counted": self.counted,
            "sections": {
                section.name: {
                    "accuracy": self._accuracy([section]),
                    "correct": section.correct,
                    "counted": self._count([section]),
                }
                for section in self.sections
            },
        }

    def _count(self, sections: Iterable[SectionScore]) -> int:
        """Return the number of questions in sections that the metric counts."""
        return sum(s.known if self.metric == "gensim" else s.questions for s in sections)

    def _accuracy(self, sections: Sequence[SectionScore]) -> float:
        """Return the fraction of counted questions in sections that are answered correctly."""
        return sum(s.correct for s in sections) / max(1, self._count(sections))


def evaluate_analogies(
    vectors: KeyedVectors,
    questions: str | os.PathLike[str] = "questions-words",
    *,
    metric: Metric = "gensim",
    restrict_vocab: int | None = None,
    case_insensitive: bool = True,
) -> AnalogyScore:
    """Answer analogies by 3CosAdd: the word nearest to ``b - a + c`` (unit vectors).

    Mikolov, Chen, Corrado and Dean 2013, "Efficient Estimation of Word Representations in Vector
    Space", section 4.1. Counts equal those of gensim's ``evaluate_word_analogies``.

    Parameters
    ----------
    vectors : KeyedVectors
        V words of D dimensions, the most frequent first.
    questions : str or path
        ``"questions-words"``, the set that comes with gensim, or a file with four words per line
        and ``: section`` headers.
    metric : "gensim" or "all", default "gensim"
        ``"gensim"`` leaves out questions with an unknown word and searches the 300,000 most
        frequent words. ``"all"`` divides by all questions of the file, so an unknown word is a
        wrong answer, and searches the whole vocabulary, as HyperWords does (Levy, Goldberg and
        Dagan 2015, "Improving Distributional Similarity with Lessons Learned from Word
        Embeddings", TACL 3, section 4.2). It equals gensim's ``dummy4unknown=True`` with
        ``restrict_vocab=None``. The two metrics differ widely on small vocabularies, so name the
        metric with the accuracy.
    restrict_vocab : int, optional
        Number of words searched: words after the first `restrict_vocab` are unknown and never an
        answer. By default the number that `metric` searches.
    case_insensitive : bool, default True
        Ignore case; of several variants the first (most frequent) is used.

    Returns
    -------
    AnalogyScore
        Accuracies in [0, 1], also per section.

    Raises
    ------
    ValueError
        If the metric is unknown.
    EvaluationFileError
        If the file is damaged, has no question, or has a line that is not four words.
    OSError
        If the file cannot be read.
    """
    if metric not in ("gensim", "all"):
        raise ValueError(f"unknown metric {quoted(metric)} (known metrics: 'gensim', 'all')")
    sections = read_questions(find_shipped(NAMED_SETS, questions))
    if restrict_vocab is None and metric == "gensim":
        restrict_vocab = GENSIM_RESTRICT_VOCAB
    fold = str.upper if case_insensitive else str
    vectors = with_keys(vectors)
    folded_sections = {
        name: [tuple(fold(word) for word in question) for question in section]
        for name, section in sections.items()
    }
    words = {word for section in folded_sections.values() for q in section for word in q}
    n_words = min(len(vectors), restrict_vocab or len(vectors))
    rows = find_rows(vectors, words, n_words, fold)
    known_questions: dict[str, list[Question]] = {
        name: [question for question in section if rows.keys() >= set(question)]
        for name, section in folded_sections.items()
    }
    all_questions = [question for section in known_questions.values() for question in section]
    answers = _answer(vectors, n_words, rows, all_questions)
    scores = []
    for name, section in known_questions.items():
        n_correct = sum(next(answers) in rows[question[3]] for question in section)
        scores.append(SectionScore(name, len(sections[name]), len(section), n_correct))
    return AnalogyScore(metric, tuple(scores))


def _answer(
    vectors: KeyedVectors,
    n_words: int,
    rows: Mapping[str, list[int]],
    questions: Sequence[Question],
) -> Iterator[int | None]:
    """Yield gensim's answer to each question: the row of a word, or None without any.

    Answers are searched among the first `n_words` words. `rows` contains the rows of each word of
    the questions, several for variants in case.

    All vectors are read once, and the scores of a block of questions and of words are one matrix
    product. gensim reads all vectors for each question, which takes 5 to 30 times as long. gensim's
    code is called only if the two highest scores differ by less than rounding errors, or if many
    variants of the input words exist.
    """
    if not questions:
        return
    vectors.fill_norms()
    # Two scores whose difference exceeds this margin are in the same order in gensim's code. The
    # margin was chosen, not derived: 64 eps for unit vectors, times 3, because b - a + c has a norm
    # of up to 3. The rounding errors of a score are much smaller, about 6 eps in random vectors of
    # 100 to 1,000 floats.
    margin = 3 * 64 * max(np.finfo(np.float32).eps, np.finfo(vectors.vectors.dtype).eps)

    input_rows = [[row for word in set(q[:3]) for row in rows[word]] for q in questions]
    a, b, c = np.array([[rows[word][0] for word in q[:3]] for q in questions]).T
    queries = _unit_rows(vectors, b)
    queries += _unit_rows(vectors, c)
    queries -= _unit_rows(vectors, a)
    best_rows, leads = _find_best(vectors, n_words, queries, input_rows)
    for index, question in enumerate(questions):
        # gensim considers only five candidates, which may all be variants of the inputs
        n_variants = len(input_rows[index]) - 3
        if leads[index] > margin and n_variants < N_CANDIDATES:
            yield int(best_rows[index])
            continue
        # pass keys rather than rows: if keys are integers, gensim would take rows for keys
        key_a, key_b, key_c = (vectors.index_to_key[rows[word][0]] for word in question[:3])
        neighbours = vectors.most_similar(
            [key_b, key_c], [key_a], topn=N_CANDIDATES, restrict_vocab=n_words
        )
        candidates = [vectors.get_index(key) for key, _ in neighbours]
        last_candidate = candidates[-1] if candidates else None
        yield next((row for row in candidates if row not in input_rows[index]), last_candidate)


def _unit_rows(vectors: KeyedVectors, rows: np.ndarray | slice) -> np.ndarray:
    """Return rows of vectors, scaled to length 1, as float32; zeros become NaN."""
    with np.errstate(invalid="ignore"):
        unit_rows = vectors.vectors[rows] / vectors.norms[rows, None]
    return unit_rows.astype(np.float32, copy=False)


def _find_best(
    vectors: KeyedVectors, n_words: int, queries: np.ndarray, input_rows: Sequence[list[int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each query, the row with the highest score, and its lead over the second row.

    Rows of zeros, and each query's `input_rows`, are left out. A lead is NaN if a score is NaN,
    as all scores of a query are that contains a row of zeros.

    Parameters
    ----------
    vectors : KeyedVectors
        Vectors with norms.
    n_words : int
        Number of words that are searched, the first ones.
    queries : numpy.ndarray
        Sums of unit vectors, [n, D].
    input_rows : sequence of list of int
        Rows of the words of each query, [n].
    """
    best_rows = np.zeros(len(queries), np.int64)
    highest, second = np.full((2, len(queries)), -np.inf, np.float32)
    # all pairs of an input row and its query, ordered by the rows
    excluded_rows = np.array([row for rows in input_rows for row in rows])
    excluded_queries = np.repeat(np.arange(len(queries)), [len(rows) for rows in input_rows])
    order = np.argsort(excluded_rows, kind="stable")
    excluded_rows, excluded_queries = excluded_rows[order], excluded_queries[order]
    for block in row_blocks(vectors.vectors, n_words):
        unit = _unit_rows(vectors, block)
        is_zero = vectors.norms[block] == 0
        n_queries = max(1, BLOCK_BYTES // (4 * len(unit)))
        for start in range(0, len(queries), n_queries):
            part = slice(start, start + n_queries)
            scores = queries[part] @ unit.T  # [queries, words]
            scores[:, is_zero] = -np.inf
            first, last = np.searchsorted(excluded_rows, (block.start, block.stop))
            query_ids = excluded_queries[first:last] - start
            is_in_part = (query_ids >= 0) & (query_ids < len(scores))
            columns = excluded_rows[first:last][is_in_part] - block.start
            scores[query_ids[is_in_part], columns] = -np.inf
            query_ids = np.arange(len(scores))
            columns = scores.argmax(axis=1)
            block_highest = scores[query_ids, columns]
            scores[query_ids, columns] = -np.inf
            is_higher = block_highest > highest[part]
            best_rows[part][is_higher] = block.start + columns[is_higher]
            # np.maximum and np.minimum return NaN if either number is
            lower = np.minimum(highest[part], block_highest)
            second[part] = np.maximum.reduce([second[part], lower, scores.max(axis=1)])
            highest[part] = np.maximum(highest[part], block_highest)
    with np.errstate(invalid="ignore"):  # infinity minus infinity is NaN
        return best_rows, highest - second
