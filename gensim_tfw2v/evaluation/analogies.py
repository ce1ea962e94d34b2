"""Analogies ("a is to b as c is to ?") by vector offset, in the two usual metrics."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.evaluation.sets import Question, read_questions, shipped
from gensim_tfw2v.keyed import with_keys
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.typed_words import typed_form

Metric = Literal["gensim", "all"]

NAMED_SETS = {"questions-words": "questions-words.txt"}
"""Sets that come with gensim, by name: the questions of Mikolov et al. (2013)."""

GENSIM_RESTRICT_VOCAB = 30_000

#: Maximum size of a block of scores, in bytes.
BLOCK_BYTES = 64 * 2**20

#: Number of nearest words among which gensim searches for one that is not an input word.
CANDIDATES = 5


@dataclass(frozen=True)
class SectionScore:
    """Counts of questions in one section of a file.

    Attributes
    ----------
    name : str
        Name of the section.
    questions, known, correct : int
        Numbers of questions in the section, of questions whose four words are known, and of correct
        answers.
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
        """Number of questions that the total accuracy divides by."""
        return self._counted(self.sections)

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
        names = ("total", "semantic", "syntactic", "correct", "counted")
        sections = {
            s.name: {
                "accuracy": self._accuracy([s]), "correct": s.correct, "counted": self._counted([s])
            }
            for s in self.sections
        }  # fmt: skip
        return {name: getattr(self, name) for name in names} | {"sections": sections}

    def _counted(self, sections: Iterable[SectionScore]) -> int:
        return sum(s.known if self.metric == "gensim" else s.questions for s in sections)

    def _accuracy(self, sections: Sequence[SectionScore]) -> float:
        return sum(s.correct for s in sections) / max(1, self._counted(sections))


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
    metric : {"gensim", "all"}
        ``"gensim"`` leaves out questions with an unknown word and searches the 30,000 most
        frequent words. ``"all"`` divides by all questions of the file, so an unknown word is a
        wrong answer, and searches the whole vocabulary, as HyperWords does (Levy, Goldberg and
        Dagan 2015, "Improving Distributional Similarity with Lessons Learned from Word
        Embeddings", TACL 3, section 4.2). It equals gensim's ``dummy4unknown=True``. The two
        metrics differ widely on small vocabularies, so name the metric with the accuracy.
    restrict_vocab : int, optional
        Number of words searched: words after the first `restrict_vocab` are unknown and never an
        answer. By default the number that `metric` searches.
    case_insensitive : bool
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
    sections = read_questions(shipped(NAMED_SETS, questions))
    if restrict_vocab is None and metric == "gensim":
        restrict_vocab = GENSIM_RESTRICT_VOCAB
    fold = str.upper if case_insensitive else str
    vectors = with_keys(vectors)
    searched = [
        word if (form := typed_form(word)) is None else fold(form)  # None: no question contains it
        for word in vectors.index_to_key[: restrict_vocab or None]
    ]
    vocabulary = set(searched)
    known = {
        name: [q for q in (tuple(map(fold, q)) for q in asked) if vocabulary.issuperset(q)]
        for name, asked in sections.items()
    }
    answers = _answers(vectors, searched, [q for asked in known.values() for q in asked])
    scores = []
    for name, asked in known.items():
        correct = sum(next(answers) == question[3] for question in asked)
        scores.append(SectionScore(name, len(sections[name]), len(asked), correct))
    return AnalogyScore(metric, tuple(scores))


def _answers(
    vectors: KeyedVectors, searched: Sequence[str], questions: Sequence[Question]
) -> Iterator[str | None]:
    """Yield gensim's answer to each question, from the words that are searched.

    The scores of a block of questions are one matrix product. gensim reads all vectors for each
    question, which takes 5 to 30 times as long. Its code is called only if the two highest scores
    differ by less than rounding errors, or if many variants of the input words exist.
    """
    rows: dict[str, list[int]] = {}
    for row, word in enumerate(searched):
        rows.setdefault(word, []).append(row)
    vectors.fill_norms()
    norms = vectors.norms[: len(searched)]
    with np.errstate(invalid="ignore"):  # gensim decides about NaN scores
        unit = (vectors.vectors[: len(searched)] / norms[:, None]).astype(np.float32)
    # bound on rounding errors: 64 eps, times 3 because b - a + c has a norm of up to 3
    margin = 3 * 64 * max(np.finfo(np.float32).eps, np.finfo(vectors.vectors.dtype).eps)

    size = max(1, BLOCK_BYTES // (4 * max(1, len(searched))))
    for start in range(0, len(questions), size):
        block = questions[start : start + size]
        a, b, c = np.array([[rows[word][0] for word in question[:3]] for question in block]).T
        scores = (unit[b] + unit[c] - unit[a]) @ unit.T  # [Q, searched]
        scores[:, norms == 0] = -np.inf
        for (*asked, _), scored in zip(block, scores, strict=True):
            inputs = [row for word in {*asked} for row in rows[word]]
            scored[inputs] = -np.inf
            best = int(scored.argmax())
            highest = float(scored[best])
            scored[best] = -np.inf
            # gensim considers only five candidates, which may all be variants of the inputs
            if highest - float(scored.max()) > margin and len(inputs) - 3 < CANDIDATES:
                yield searched[best]
                continue
            # keys, because gensim takes a row number for the integer, if that is a word
            subtracted, *added = (vectors.index_to_key[rows[word][0]] for word in asked)
            similar = vectors.most_similar(
                added, [subtracted], topn=CANDIDATES, restrict_vocab=len(searched)
            )
            near = [searched[vectors.get_index(word)] for word, _ in similar]
            yield next((word for word in near if word not in asked), near[-1] if near else None)
