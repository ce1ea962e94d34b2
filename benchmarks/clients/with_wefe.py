"""WEFE: associations between sets of words (WEAT), by its own metric and sets."""

import time
from functools import cache

from benchmarks.clients.client import SECONDS, Client, Measured

OPTIONS = {"sg": 1, "vector_size": 50, "window": 5, "min_count": 5, "epochs": 5, "workers": 1}

#: Queries of WEAT by name: two sets of target words, and two sets of attribute words.
QUERIES = {
    "flowers, insects: pleasant": ("flowers", "insects", "pleasant_5", "unpleasant_5a"),
    "instruments, weapons: pleasant": ("instruments", "weapons", "pleasant_5", "unpleasant_5a"),
    "career, family: male": ("career", "family", "male_names", "female_names"),
    "math, arts: male": ("math", "arts", "male_terms", "female_terms"),
    "science, arts: male": ("science", "arts_2", "male_terms_2", "female_terms_2"),
}

#: Maximum fraction of a set's words without a vector: the corpus is small, and lacks many words.
MAX_MISSING = 0.9


@cache
def _articles() -> list[list[str]]:
    """Return the Wikipedia articles of gensim's tests, in sentences of 50 words."""
    from gensim.corpora import WikiCorpus
    from gensim.test.utils import datapath

    path = datapath("enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2")
    articles = WikiCorpus(path, dictionary={}, processes=1).get_texts()
    return [words[start : start + 50] for words in articles for start in range(0, len(words), 50)]


def _run(word2vec: type, seed: int) -> Measured:
    from wefe.datasets import load_weat
    from wefe.metrics import WEAT
    from wefe.query import Query
    from wefe.word_embedding_model import WordEmbeddingModel

    articles, start = _articles(), time.perf_counter()
    vectors = word2vec(articles, seed=seed, **OPTIONS).wv
    seconds = time.perf_counter() - start
    model, sets = WordEmbeddingModel(vectors, "measured"), load_weat()
    preprocessors = [{}, {"lowercase": True}]
    scores = {f"training: {SECONDS}": seconds}
    for name, (*targets, first, second) in QUERIES.items():
        query = Query([sets[name] for name in targets], [sets[first], sets[second]])
        answer = WEAT().run_query(
            query, model, lost_vocabulary_threshold=MAX_MISSING, preprocessors=preprocessors
        )
        scores[name] = float(answer["effect_size"])
    return Measured(scores)


CLIENTS = (
    Client(
        "WEFE",
        ("wefe",),
        (),  # no target: the program accepts vectors
        _run,
        "WEAT's effect sizes for vectors of 106 Wikipedia articles, skip-gram, 50 dimensions, "
        "5 epochs; words of the sets that are not in the articles are skipped",
    ),
)
