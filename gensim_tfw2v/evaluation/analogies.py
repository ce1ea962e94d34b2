"""Analogies ("a is to b as c is to ?") by vector offset, in the two metrics in use."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from gensim.models import KeyedVectors
from numpy.typing import NDArray

from gensim_tfw2v.evaluation.files import Question, read_questions, shipped

Metric = Literal["gensim", "all"]

NAMED_SETS = {"questions-words": "questions-words.txt"}
"""Sets that come with gensim, by name: the questions of Mikolov et al. (2013)."""

GENSIM_RESTRICT_VOCAB = 30_000
BLOCK_BYTES = 64 * 2**20
CANDIDATES = 5  # gensim looks at this many nearest words for one that is no input word


@dataclass(frozen=True)
class SectionScore:
    """Counts of questions in one section: in the file, with all words known, and answered right."""

    name: str
    questions: int
    known: int
    correct: int

    @property
    def syntactic(self) -> bool:
        """Whether the section is about grammar: such names start with "gram" in the files."""
        return self.name.startswith("gram")


@dataclass(frozen=True)
class AnalogyScore:
    """Accuracy on a set of analogies.

    Attributes
    ----------
    metric : {"gensim", "all"}
        Which questions the accuracies divide by; see `evaluate_analogies`.
    sections : tuple of SectionScore
        In the order of the file.
    """

    metric: Metric
    sections: tuple[SectionScore, ...]

    @property
    def correct(self) -> int:
        """Number of right answers."""
        return sum(section.correct for section in self.sections)

    @property
    def counted(self) -> int:
        """Number of questions that the total accuracy divides by."""
        return sum(self._counted(section) for section in self.sections)

    @property
    def total(self) -> float:
        """Accuracy over all sections, in [0, 1]; 0 where no question counts, as in gensim."""
        return self._accuracy(self.sections)

    @property
    def semantic(self) -> float:
        """Accuracy over the sections about meaning, in [0, 1]."""
        return self._accuracy(tuple(s for s in self.sections if not s.syntactic))

    @property
    def syntactic(self) -> float:
        """Accuracy over the sections about grammar, in [0, 1]."""
        return self._accuracy(tuple(s for s in self.sections if s.syntactic))

    def to_dict(self) -> dict[str, object]:
        """Give the values for JSON."""
        return {
            "total": self.total,
            "semantic": self.semantic,
            "syntactic": self.syntactic,
            "correct": self.correct,
            "counted": self.counted,
            "sections": {
                s.name: {"accuracy": self._accuracy((s,)), "correct": s.correct,
                         "counted": self._counted(s)}
                for s in self.sections
            },
        }  # fmt: skip

    def _counted(self, section: SectionScore) -> int:
        return section.known if self.metric == "gensim" else section.questions

    def _accuracy(self, sections: tuple[SectionScore, ...]) -> float:
        counted = sum(map(self._counted, sections))
        return sum(section.correct for section in sections) / counted if counted else 0.0


def evaluate_analogies(
    vectors: KeyedVectors,
    questions: str | os.PathLike[str] = "questions-words",
    *,
    metric: Metric = "gensim",
    restrict_vocab: int | None = None,
    case_insensitive: bool = True,
) -> AnalogyScore:
    """Answer analogies by 3CosAdd: the word nearest to ``b - a + c`` (unit vectors).

    That is Mikolov, Chen, Corrado and Dean 2013, "Efficient Estimation of Word Representations in
    Vector Space", section 4.1. Counts equal those of gensim's ``evaluate_word_analogies``, which
    asks one question at a time; here a block of questions is one matrix product.

    Parameters
    ----------
    vectors : KeyedVectors
        V words of D dimensions, the most frequent first.
    questions : str or path
        A name of `NAMED_SETS`, or a file of four words a line with ``: section`` headers.
    metric : {"gensim", "all"}
        ``"gensim"`` leaves out questions with an unknown word and searches the 30,000 most
        frequent words. ``"all"`` divides by all questions of the file, so an unknown word is a
        wrong answer, and searches the whole vocabulary, as HyperWords does (Levy, Goldberg and
        Dagan 2015, "Improving Distributional Similarity with Lessons Learned from Word
        Embeddings", TACL 3, section 4.2); it equals gensim's ``dummy4unknown=True``. The two differ
        much on small vocabularies: say which.
    restrict_vocab : int, optional
        Words after the first `restrict_vocab` are unknown and never an answer. By default what
        the metric says.
    case_insensitive : bool
        Match words whatever their case; the first (most frequent) variant is taken.

    Raises
    ------
    EvaluationFileError
        The file holds no question, or a line that is not four words.
    OSError
        The file cannot be read.
    """
    if metric not in ("gensim", "all"):
        raise ValueError(f"unknown metric {metric!r} (known metrics: 'gensim', 'all')")
    path = shipped(NAMED_SETS[questions]) if questions in NAMED_SETS else questions
    sections = read_questions(path)
    if restrict_vocab is None and metric == "gensim":
        restrict_vocab = GENSIM_RESTRICT_VOCAB
    searched = min(restrict_vocab or len(vectors), len(vectors))
    solver = _Solver(vectors, searched, case_insensitive)

    answers = iter(solver.solve([q for asked in sections.values() for q in asked]))
    scores = []
    for name, asked in sections.items():
        results = [next(answers) for _ in asked]
        known = sum(result is not None for result in results)
        scores.append(SectionScore(name, len(asked), known, sum(map(bool, results))))
    return AnalogyScore(metric, tuple(scores))


_Known = tuple[int, list[list[int]]]
"""Number of a question, and the indices of all case variants of each of its four words."""


class _Solver:
    """Decides for many questions at once whether gensim would count them as right.

    A question is right when the best word with the expected spelling scores above the best word
    that is neither that nor an input (whatever its case). So two maxima of a row of scores
    decide, no ranking. Scores closer than rounding can tell apart are left to gensim.
    """

    def __init__(self, vectors: KeyedVectors, searched: int, case_insensitive: bool) -> None:
        self.vectors = vectors
        self.searched = searched
        self.fold: Callable[[str], str] = str.upper if case_insensitive else str
        self.variants: dict[str, list[int]] = {}
        for index, word in enumerate(vectors.index_to_key[:searched]):
            self.variants.setdefault(self.fold(word), []).append(index)
        vectors.fill_norms()
        norms = vectors.norms[:searched, None]
        self.without_direction = np.flatnonzero(norms == 0)
        with np.errstate(invalid="ignore"):  # a NaN score is left to gensim
            unit = vectors.vectors[:searched] / norms
        self.unit: NDArray[np.float32] = unit.astype(np.float32)
        precision = max(np.finfo(np.float32).eps, np.finfo(vectors.vectors.dtype).eps)
        self.margin = 64 * float(precision)

    def solve(self, questions: list[Question]) -> list[bool | None]:
        """Give for each question: right, wrong, or None where a word is unknown."""
        results: list[bool | None] = [None] * len(questions)
        known: list[_Known] = []
        for number, question in enumerate(questions):
            words = [self.variants.get(self.fold(word)) for word in question]
            if None not in words:
                known.append((number, [found for found in words if found is not None]))
        for block in _blocks(known, max(1, BLOCK_BYTES // (4 * self.searched))):
            for (number, _), right in zip(block, self._solve_block(block), strict=True):
                results[number] = right
        return results

    def _solve_block(self, block: list[_Known]) -> Iterator[bool]:
        first = np.array([[variants[0] for variants in words] for _, words in block])  # [Q, 4]
        target = self.unit[first[:, 1]] + self.unit[first[:, 2]] - self.unit[first[:, 0]]
        with np.errstate(invalid="ignore"):
            target /= np.linalg.norm(target, axis=1, keepdims=True)
        scores = target @ self.unit.T  # [Q, searched]
        scores[:, self.without_direction] = -np.inf
        for row, (_, (a, b, c, expected)) in zip(scores, block, strict=True):
            inputs = {*a, *b, *c}
            row[list(inputs)] = -np.inf
            hoped = row[expected].max()
            row[expected] = -np.inf
            best = row.max()
            lead = hoped - best if np.isfinite(best) else np.nan
            # gensim gives up after five candidates, which many variants of the inputs can fill
            if abs(lead) > self.margin and len(inputs) - 3 < CANDIDATES:
                yield bool(lead > 0)
            else:
                yield self._ask_gensim(a[0], b[0], c[0], inputs, set(expected))

    def _ask_gensim(self, a: int, b: int, c: int, inputs: set[int], expected: set[int]) -> bool:
        similar = self.vectors.most_similar(
            positive=[b, c], negative=[a], topn=CANDIDATES, restrict_vocab=self.searched
        )
        predicted: int | None = None
        for word, _ in similar:
            predicted = self.vectors.key_to_index[word]
            if predicted not in inputs:
                break
        return predicted in expected


def _blocks(items: list[_Known], size: int) -> Iterator[list[_Known]]:
    return (items[start : start + size] for start in range(0, len(items), size))
