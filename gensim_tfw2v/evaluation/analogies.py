"""Analogies ("a is to b as c is to ?") by vector offset, in the two usual metrics."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.evaluation.sets import Question, find_shipped, read_questions
from gensim_tfw2v.keyed import with_keys
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.typed_words import typed_form

Metric = Literal["gensim", "all"]

NAMED_SETS = {"questions-words": "questions-words.txt"}
"""Files of the sets that come with gensim, by name: the questions of Mikolov et al. (2013)."""

#: Number of words that gensim searches by default.
GENSIM_RESTRICT_VOCAB = 30_000

#: Maximum size of a block of scores, in bytes.
BLOCK_BYTES = 64 * 2**20

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
    sections = read_questions(find_shipped(NAMED_SETS, questions))
    if restrict_vocab is None and metric == "gensim":
        restrict_vocab = GENSIM_RESTRICT_VOCAB
    fold = str.upper if case_insensitive else str
    vectors = with_keys(vectors)
    words = []
    for key in vectors.index_to_key[: restrict_vocab or None]:
        form = typed_form(key)
        # a key without a typed form is in no question, but its vector is a candidate
        words.append(key if form is None else fold(form))
    vocabulary = set(words)
    known_questions: dict[str, list[Question]] = {}
    for name, section in sections.items():
        folded_questions = [tuple(fold(word) for word in question) for question in section]
        known_questions[name] = [q for q in folded_questions if vocabulary.issuperset(q)]
    all_questions = [question for section in known_questions.values() for question in section]
    answers = _answer(vectors, words, all_questions)
    scores = []
    for name, section in known_questions.items():
        n_correct = sum(next(answers) == question[3] for question in section)
        scores.append(SectionScore(name, len(sections[name]), len(section), n_correct))
    return AnalogyScore(metric, tuple(scores))


def _answer(
    vectors: KeyedVectors, words: Sequence[str], folded_questions: Sequence[Question]
) -> Iterator[str | None]:
    """Yield gensim's answer to each question.

    `words` are the first keys of `vectors`, among which answers are searched, in the form that
    questions contain.

    The scores of a block of questions are one matrix product. gensim reads all vectors for each
    question, which takes 5 to 30 times as long. gensim's code is called only if the two highest
    scores differ by less than rounding errors, or if many variants of the input words exist.
    """
    rows: dict[str, list[int]] = {}
    for row, word in enumerate(words):
        rows.setdefault(word, []).append(row)
    vectors.fill_norms()
    norms = vectors.norms[: len(words)]
    # Words whose vectors are zeros have scores of NaN, which are replaced below. The scores of a
    # question that contains such a word are all NaN. They fail the comparison with `margin`, so
    # gensim's code answers the question.
    with np.errstate(invalid="ignore"):
        unit = (vectors.vectors[: len(words)] / norms[:, None]).astype(np.float32)
    # Two scores whose difference exceeds this margin are in the same order in gensim's code. The
    # margin was chosen, not derived: 64 eps for unit vectors, times 3, because b - a + c has a norm
    # of up to 3. The rounding errors of a score are much smaller, about 6 eps in random vectors of
    # 100 to 1,000 floats.
    margin = 3 * 64 * max(np.finfo(np.float32).eps, np.finfo(vectors.vectors.dtype).eps)

    block_size = max(1, BLOCK_BYTES // (4 * max(1, len(words))))
    for start in range(0, len(folded_questions), block_size):
        block = folded_questions[start : start + block_size]
        a, b, c = np.array([[rows[word][0] for word in question[:3]] for question in block]).T
        scores = (unit[b] + unit[c] - unit[a]) @ unit.T  # [questions, words]
        scores[:, norms == 0] = -np.inf
        for question, row_scores in zip(block, scores, strict=True):
            inputs = question[:3]
            input_rows = [row for word in set(inputs) for row in rows[word]]
            row_scores[input_rows] = -np.inf
            best_row = int(row_scores.argmax())
            highest = float(row_scores[best_row])
            row_scores[best_row] = -np.inf
            # gensim considers only five candidates, which may all be variants of the inputs
            n_variants = len(input_rows) - 3
            if highest - float(row_scores.max()) > margin and n_variants < N_CANDIDATES:
                yield words[best_row]
                continue
            # pass keys rather than rows: if keys are integers, gensim would take rows for keys
            key_a, key_b, key_c = (vectors.index_to_key[rows[word][0]] for word in inputs)
            neighbours = vectors.most_similar(
                [key_b, key_c], [key_a], topn=N_CANDIDATES, restrict_vocab=len(words)
            )
            candidates = [words[vectors.get_index(key)] for key, _ in neighbours]
            last_candidate = candidates[-1] if candidates else None
            yield next((word for word in candidates if word not in inputs), last_candidate)
