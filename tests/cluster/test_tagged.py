"""Documents on clusters and with regimes: tags are sent, and survive killed processes."""

from types import SimpleNamespace

import numpy as np
import pytest
from gensim.models.doc2vec import TaggedDocument
from gensim.test.utils import datapath

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.corpus.encode import fresh_folder
from gensim_tfw2v.corpus.encoded_corpus import EncodedCorpus
from gensim_tfw2v.corpus.shard_files import END, FIRST_TAG
from gensim_tfw2v.corpus.shards import EncodedPart, Shard
from gensim_tfw2v.corpus.shards import save_ids as save
from gensim_tfw2v.doc2vec import TFDoc2Vec
from gensim_tfw2v.parameter_server.combining import Directions, draw_rows
from gensim_tfw2v.training.checkpoints import CheckpointError
from gensim_tfw2v.training.training_plan import Plan
from gensim_tfw2v.training.vocabulary import Vocabulary
from tests.cluster.test_faults import Killer
from tests.cluster.test_training import servers
from tests.engines import train_by_graph

with open(datapath("lee_background.cor")) as text:
    DOCUMENTS = [
        TaggedDocument(line.split(), [number, "even" if number % 2 == 0 else "odd"])
        for number, line in enumerate(text)
    ]
OPTIONS = {"vector_size": 24, "epochs": 5, "min_count": 2, "seed": 3, "alpha": 0.1}


@pytest.fixture(scope="module", autouse=True)
def short_units():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gensim_tfw2v.unit_sizes.UNIT_ENTRIES", 8192)
        patch.setattr("gensim_tfw2v.unit_sizes.CLUSTER_ENTRIES", 8192)
        yield


def trained(**options):
    return TFDoc2Vec(DOCUMENTS, **OPTIONS | {"workers": 1} | options)


def likeness(one, other):
    """Return the correlation of two models' similarities of documents."""
    similar = []
    for model in (one, other):
        vectors = model.dv.get_normed_vectors()[:300]
        similar.append((vectors @ vectors.T)[np.triu_indices(300, 1)])
    return np.corrcoef(similar)[0, 1]


@pytest.mark.parametrize(
    ("where", "options"),
    [
        ({"cluster": "local:ps=2,worker=2"}, {"dm": 1}),
        ({"regime": "synchronous"}, {"dm": 0, "dbow_words": 1, "workers": 2}),
    ],
    ids=str,
)
@pytest.mark.usefixtures("shared_forks")
def test_clusters_train_documents_as_threads_do(where, options):
    local, other = trained(**options), trained(**options | where)
    assert likeness(local, other) > 0.7
    for of_local, vectors in ((local.dv, other.dv), (local.wv, other.wv)):
        lengths = [np.linalg.norm(of.vectors, axis=1).mean() for of in (of_local, vectors)]
        np.testing.assert_allclose(*lengths, rtol=0.1)
    size = 4 if "regime" in where else 2  # bytes per element
    rows = other.traffic.fetched_bytes / size / other.vector_size
    epochs = OPTIONS["epochs"]
    assert rows > epochs * (300 + 3 * len(other.wv))
    assert other.traffic.tokens < epochs * other.corpus_total_words  # pairs do not count
    assert not servers()


@pytest.mark.slow  # kills during training of words are always tested
@pytest.mark.usefixtures("shared_forks")
def test_killed_tasks_are_restarted(monkeypatch):
    killer = Killer(monkeypatch, ("worker", 0), ("ps", 1))
    model = trained(dm=0, cluster="local:ps=2,worker=2", callbacks=[killer])
    assert len(killer.killed) == 2 and likeness(trained(dm=0), model) > 0.7
    assert not servers()


def test_checkpoints_of_different_documents_are_rejected(tmp_path):
    class Interrupt:
        left = 2

        def on_train_begin(self, model): ...
        def on_train_end(self, model): ...
        def on_epoch_begin(self, model): ...
        def on_epoch_end(self, model):
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(checkpoint_dir=tmp_path, callbacks=[Interrupt()])
    with pytest.raises(CheckpointError, match="dbow_words"):
        trained(checkpoint_dir=tmp_path, dbow_words=1)
    others = [
        doc._replace(tags=[tag if tag != "odd" else 300 for tag in doc.tags]) for doc in DOCUMENTS
    ]
    with pytest.raises(CheckpointError, match="it has tags='302 tags, "):
        TFDoc2Vec(others, **OPTIONS, workers=1, checkpoint_dir=tmp_path)
    resumed, whole = trained(checkpoint_dir=tmp_path), trained()
    np.testing.assert_array_equal(resumed.dv.vectors, whole.dv.vectors)
    np.testing.assert_array_equal(resumed.wv.vectors, whole.wv.vectors)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"regime": "downpour"}, "Doc2Vec can't be trained.*Downpour.*own operations"),
        ({"regime": "sandblaster"}, "Sandblaster.*own operations.*'asynchronous' or 'synchronous'"),
        ({"cluster": "local:ps=1,worker=1", "layout": "columns"}, "layout='columns'"),
        ({"regime": "submodels:models=2"}, "SubModels.*not of documents.*'synchronous'$"),
    ],
    ids=str,
)
def test_regimes_that_cannot_train_documents_are_rejected(options, message):
    with pytest.raises(ValueError, match=message):
        TFDoc2Vec(**options)


def test_documents_without_kernels_are_rejected(monkeypatch):
    train_by_graph(monkeypatch)
    with pytest.raises(RuntimeError, match="Doc2Vec is trained only by the compiled kernels"):
        trained()


def encoded(documents):
    """Return an encoded corpus of documents, each (tags, words)."""
    entries = np.concatenate([
        np.array([*(FIRST_TAG - tag for tag in tags), *words, END]) for tags, words in documents
    ])  # fmt: skip
    with fresh_folder() as made:
        save(made.folder / "0", entries)
        tokens = int((entries >= 0).sum())
        shard = Shard(str(made.folder / "0"), len(entries), tokens, tokens, len(documents))
        return EncodedCorpus(made, [EncodedPart([shard], tokens, len(documents))])


def two_words(**counts):
    keep, noise = np.ones(2, np.float32), np.array([1.0, 3.0])
    return Vocabulary(np.array([5.0, 3.0]), keep, noise, None, None, **counts)


def test_rates_of_tags_follow_their_documents():
    # tags 0 and 1 belong to one document each, tag 2 to both, tag 3 to none
    corpus = encoded([([0, 2], [0, 1, 0, 0]), ([1, 2], [1, 0, 0, 1])])
    assert corpus.tag_counts(4).tolist() == [1, 1, 2, 0]
    vocabulary = two_words(n_tags=4)
    with corpus:
        for options, words, tags in (
            # word inputs and inputs per tag of a position, which is a pair with one of two tags
            ({"dm": 0, "negative": 3}, 0.0, 1 / 2),
            # or, for a third of the positions, a window of 5 + 1 words
            ({"dm": 0, "negative": 3, "dbow_words": 1}, 6 / 3, 1 / 3),
            ({"dm": 1, "negative": 3}, 6.0, 1.0),
        ):
            config = TFDoc2Vec(**options)._current_config()
            assert config.window == (5 if words else 1)
            rates = vocabulary.rates(config, config.window, corpus)
            expected = [words * 5 / 8, words * 3 / 8, -tags / 2, -tags / 2, tags, 0]
            np.testing.assert_allclose(rates.inputs, 4 * np.array(expected), rtol=1e-6)
            predictions = 1.0 if options["dm"] else words + 2 * tags
            of_word = predictions * (5 / 8 + 3 / 4)
            np.testing.assert_allclose(rates.outputs[0], of_word, rtol=1e-6)


@pytest.mark.parametrize(
    ("made", "options", "mean_rows", "grows"),
    [
        (TFWord2Vec, {"sg": 0}, 6, True),
        (TFDoc2Vec, {"dm": 1}, 7, False),
        (TFDoc2Vec, {"dm": 1, "shrink_windows": False}, 11, False),
        (TFDoc2Vec, {"dm": 0}, 1, False),
    ],
)
def test_documents_average_their_tag_and_keep_the_learning_rate(made, options, mean_rows, grows):
    config = made(**options, cluster="local:ps=1,worker=4")._current_config()
    corpus = SimpleNamespace(total_tokens=1 << 23, longest_sentence=2)
    program = Plan(config, two_words(), corpus).job_config
    assert program.rows_per_mean == mean_rows
    # no other worker trains a document's rows, so none of their updates are missing
    assert (program.max_growth > 1) == grows


def test_row_trained_by_a_single_job_is_pushed_in_full():
    curvature = tf.linalg.diag(tf.constant([4.0, 1.0, 0.1]))
    rates = tf.constant([-3.0, 0.0, 3.0])
    share = Directions.of(curvature, tf.constant(4.0)).shares(rates)
    changes = share.apply(tf.ones([3, 3]), tf.range(3)).numpy()
    np.testing.assert_allclose(changes[:2], 1, atol=1e-3)
    np.testing.assert_allclose(changes[2, 0], 1 / 4, atol=1e-3)
    # such rows are still drawn as rows that other rows are predicted with
    drawn = draw_rows(tf.eye(3), rates, tf.constant([1, 2])).numpy()
    np.testing.assert_allclose(drawn.mean(0), [0.5, 0, 0.5], atol=0.05)
