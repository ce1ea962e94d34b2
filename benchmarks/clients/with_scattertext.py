"""scattertext: words similar to a word, in its sample of speeches at two party conventions."""

import time
from functools import cache
from typing import Any

from benchmarks.clients.client import SECONDS, Client, Measured, nearest

#: Number of consecutive training runs of one epoch each. More epochs per run are impossible: the
#: program passes sentences to `train` as an iterator, which the first epoch exhausts.
TRAININGS = 5

#: Number of words, the most frequent ones, whose neighbours are compared.
N_WORDS = 200

#: Minimum number of letters of these words.
MIN_LETTERS = 4

#: Options of the program's own model, except its fixed seed.
OPTIONS = {"sg": 1, "hs": 1, "negative": 0, "sample": 0, "cbow_mean": 0, "workers": 1}


def _run(word2vec: type, seed: int) -> Measured:
    import scattertext as st

    corpus = _corpus()
    model = word2vec(vector_size=100, window=5, min_count=5, seed=seed, **OPTIONS)
    start = time.perf_counter()
    st.Word2VecFromParsedCorpus(corpus, model).train(epochs=1, super_epochs=TRAININGS)
    seconds = time.perf_counter() - start
    page = st.word_similarity_explorer_gensim(
        corpus, category="democrat", target_term="jobs", word2vec=model.wv, minimum_term_frequency=5
    )
    if "jobs" not in page:
        raise ValueError("the page of scattertext's explorer lacks the word that it is about")
    words = [word for word in model.wv.index_to_key if len(word) >= MIN_LETTERS][:N_WORDS]
    return Measured({f"training: {SECONDS}": seconds}, nearest(model.wv, words))


@cache
def _corpus() -> Any:
    import scattertext as st

    frame = st.SampleCorpora.ConventionData2012.get_data()
    frame["parsed"] = frame["text"].apply(st.whitespace_nlp_with_sentences)
    return st.CorpusFromParsedDocuments(frame, category_col="party", parsed_col="parsed").build()


CLIENTS = (
    Client(
        "scattertext",
        ("scattertext",),
        (),  # no target: the program accepts a model
        _run,
        f"its options, skip-gram with hierarchical softmax, {TRAININGS} epochs over the speeches "
        f"of 2012; the 10 nearest neighbours of {N_WORDS} frequent words",
    ),
)
