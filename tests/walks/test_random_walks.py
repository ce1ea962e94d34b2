"""Walks as a corpus: their order, their names, their counts, and training on one machine."""

import numpy as np
import pytest
from gensim.models import Word2Vec

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.corpus.encode import encode_corpus, scan_corpus
from gensim_tfw2v.corpus.shard_files import END
from gensim_tfw2v.walks import walk_corpus, walk_shard
from gensim_tfw2v.walks.random_walks import RandomWalks

OPTIONS = {"vector_size": 16, "window": 5, "min_count": 1, "sg": 1, "workers": 1, "seed": 3}


def ring_of_cliques(n_cliques=8, size=6, name="{}".format):
    """Return the edges of cliques in a ring; an edge joins each clique to the next one."""
    edges = []
    for clique in range(n_cliques):
        nodes = [clique * size + index for index in range(size)]
        edges += [(a, b) for a in nodes for b in nodes if a < b]
        edges.append((nodes[-1], (clique + 1) * size % (n_cliques * size)))
    return [(name(a), name(b)) for a, b in edges]


@pytest.fixture
def edge_list(tmp_path):
    path = tmp_path / "edges.tsv"
    path.write_text("".join(f"{a}\t{b}\n" for a, b in ring_of_cliques()))
    return path


@pytest.fixture
def walks(edge_list):
    return RandomWalks(edge_list, 5, 20, p=0.5, q=2)


def named(walks, nodes):
    return [[walks.names[node] for node in walk if node >= 0] for walk in nodes]


def entries_of(corpus, epoch=0, size=1000):
    return np.concatenate([unit.read(epoch) for unit in corpus.units(size)])


def test_walks_do_not_depend_on_how_they_are_drawn(walks, monkeypatch):
    whole = walks.sample()
    assert whole.shape == (len(walks), 20) and len(walks) == 5 * 48
    np.testing.assert_array_equal(walks.sample(7), whole[:7])
    content = np.fromfile(walks._path, np.uint8)
    for first, n in ((0, 1), (3, 100), (100, 140), (239, 1)):
        part = walk_shard.draw_walks(content, 0, first, n, 20)
        np.testing.assert_array_equal(part, whole[first : first + n])
    monkeypatch.setattr("gensim_tfw2v.walks.random_walks.PIECE_WALKS", 7)
    np.testing.assert_array_equal(walks.sample(), whole)


def test_each_iteration_is_a_new_epoch_of_names(walks):
    first, second = list(walks), list(walks)
    assert first == named(walks, walks.sample())
    assert first != second and len(first) == len(second) == len(walks)
    assert {type(name) for walk in first for name in walk} == {str}


def test_fixed_walks_are_the_same_in_each_epoch(edge_list):
    walks = RandomWalks(edge_list, 2, 10, fixed=True)
    assert list(walks) == list(walks)


def test_seed_changes_the_walks(edge_list):
    one, other = (RandomWalks(edge_list, 2, 10, seed=seed).sample() for seed in (1, 2))
    assert (one != other).mean() > 0.5


def test_walks_start_at_start_nodes_only(edge_list):
    walks = RandomWalks(edge_list, 4, 10, start_nodes=["7", "0", "30"])
    assert len(walks) == 12
    starts = [walk[0] for walk in walks]
    assert sorted(starts) == sorted(["0", "30", "7"] * 4)


def test_counts_are_those_of_the_first_epoch(walks, tmp_path):
    scan = scan_corpus(walks.open_corpus(False), tmp_path)
    visited = walks.sample()
    assert scan.corpus_count == len(walks)
    assert scan.total_words == (visited >= 0).sum() == 20 * len(walks)
    counts = dict(zip(walks.names, np.bincount(visited.ravel()).tolist(), strict=True))
    assert scan.raw_vocab == counts
    assert not list(tmp_path.rglob("*.int32"))


def test_counts_of_large_graphs_are_estimated_from_some_walks(walks, tmp_path, monkeypatch):
    monkeypatch.setattr(walk_corpus, "COUNTED_STEPS", 1500)  # two of the five repetitions
    monkeypatch.setattr(walk_corpus, "PIECE_STEPS", 100)
    scan = scan_corpus(walks.open_corpus(False), tmp_path)
    counted = np.bincount(walks.sample(2 * 48).ravel())
    assert list(scan.raw_vocab.values()) == np.rint(counted * 2.5).astype(int).tolist()
    assert abs(scan.total_words - 20 * len(walks)) < 48


def test_entries_are_the_walks_whatever_the_units(walks, tmp_path):
    ids = {name: number for number, name in enumerate(reversed(walks.names))}
    with encode_corpus(walks.open_corpus(False), ids, tmp_path) as corpus:
        expected = [[*(ids[name] for name in walk), END] for walk in named(walks, walks.sample())]
        for size in (1, 21, 50, 1000, 10**6):
            np.testing.assert_array_equal(entries_of(corpus, 0, size), np.concatenate(expected))
            units = corpus.units(size)
            assert sum(unit.tokens for unit in units) == corpus.total_tokens == 20 * len(walks)
            assert sum(unit.raw_words for unit in units) == corpus.total_raw_words
            assert sum(unit.sentences for unit in units) == corpus.total_sentences == len(walks)
            assert all(len(unit.read()) <= max(size, 21) for unit in units)
        assert (entries_of(corpus, 1) != entries_of(corpus, 0)).any()
        corpus.begin_training(1)
        assert (entries_of(corpus, 0) != np.concatenate(expected)).any()


def test_nodes_outside_of_the_vocabulary_are_left_out(walks, tmp_path):
    ids = {name: number for number, name in enumerate(walks.names[::2])}
    with encode_corpus(walks.open_corpus(False), ids, tmp_path) as corpus:
        expected = [
            [ids[name] for name in walk if name in ids] for walk in named(walks, walks.sample())
        ]
        expected = [[*walk, END] for walk in expected if walk]
        np.testing.assert_array_equal(entries_of(corpus), np.concatenate(expected))
        assert corpus.total_tokens == sum(len(walk) - 1 for walk in expected)
        assert corpus.total_raw_words == 20 * len(walks)


def test_nodes_below_min_count_are_warned_of(edge_list, caplog):
    walks = RandomWalks(edge_list, 1, 4)
    model = TFWord2Vec(walks, vector_size=8, epochs=1, workers=1)  # gensim's min_count is 5
    (message,) = [text for text in caplog.messages if "have no vector" in text]
    n_missing = 48 - len(model.wv)
    assert n_missing > 0 and message.startswith(f"{n_missing} of the 48 nodes on the walks")
    caplog.clear()
    TFWord2Vec(walks, vector_size=8, epochs=1, workers=1, min_count=1)
    assert "have no vector" not in caplog.text


def test_vectors_of_a_clique_are_alike(edge_list):
    walks = RandomWalks(edge_list, 10, 40)
    model = TFWord2Vec(walks, **OPTIONS, epochs=5)
    for clique in range(8):
        nearest = [name for name, _ in model.wv.most_similar(str(6 * clique + 2), topn=4)]
        assert {int(name) // 6 for name in nearest} == {clique}
    assert model.corpus_count == len(walks) and model.corpus_total_words == 40 * len(walks)


def test_fixed_walks_train_as_lists_of_names_do(edge_list):
    walks = RandomWalks(edge_list, 10, 40, q=0.5, fixed=True)
    names = list(walks)
    models = []
    for sentences in (walks, names):
        model = TFWord2Vec(**OPTIONS)
        model.build_vocab(names)  # equally frequent nodes would be numbered differently
        model.train(sentences, total_examples=model.corpus_count, epochs=2)
        models.append(model)
    drawn, listed = models
    np.testing.assert_array_equal(drawn.wv.vectors, listed.wv.vectors)
    np.testing.assert_array_equal(drawn.syn1neg, listed.syn1neg)
    counted = TFWord2Vec(**OPTIONS)
    counted.build_vocab(walks)
    for name in names[0]:
        counts = [model.wv.get_vecattr(name, "count") for model in (counted, listed)]
        assert counts[0] == counts[1]


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_deterministic_training_has_the_same_bits_with_any_workers(edge_list, workers):
    walks = RandomWalks(edge_list, 10, 40, p=0.25, q=0.25)
    one = TFWord2Vec(walks, **OPTIONS, epochs=2, deterministic=True)
    other = TFWord2Vec(walks, **OPTIONS | {"workers": workers}, epochs=2, deterministic=True)
    np.testing.assert_array_equal(one.wv.vectors, other.wv.vectors)


def test_second_training_has_new_walks(walks):
    model = TFWord2Vec(walks, **OPTIONS, epochs=1, compute_loss=True)
    seen = []
    from gensim_tfw2v.corpus.encoded_corpus import WorkUnit

    read = WorkUnit.read
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WorkUnit, "read", lambda *args: seen.append(read(*args)) or seen[-1])
        for _ in range(2):
            model.train(walks, total_examples=model.corpus_count, epochs=1)
    half = len(seen) // 2
    first, second = np.concatenate(seen[:half]), np.concatenate(seen[half:])
    assert len(first) == len(second) and (first != second).mean() > 0.5


def test_gensim_trains_on_the_walks(walks):
    model = Word2Vec(walks, vector_size=8, min_count=1, epochs=2, workers=1)
    assert set(model.wv.index_to_key) == set(walks.names)


def test_fasttext_trains_on_the_walks(walks):
    model = TFFastText(walks, vector_size=8, min_count=1, epochs=1, workers=1, bucket=100)
    assert set(model.wv.index_to_key) == set(walks.names)


def test_nodes_without_edges_keep_a_vector():
    offsets = np.array([0, 1, 2, 2, 2])
    walks = RandomWalks((offsets, np.array([1, 0])), 6, 10, directed=True)
    model = TFWord2Vec(walks, vector_size=8, epochs=1, workers=1)
    assert set(model.wv.index_to_key) == {0, 1, 2, 3}
    assert model.wv.get_vecattr(3, "count") == 6
    assert [walk for walk in walks if walk[0] == 2] == [[2]] * 6


def test_interrupted_training_resumes_with_the_same_walks(walks, tmp_path):
    class Interrupt:
        def on_train_begin(self, model): ...
        def on_train_end(self, model): ...
        def on_epoch_end(self, model): ...

        def on_epoch_begin(self, model):
            if model._state.training is not None and model._state.training.position.epoch == 1:
                raise KeyboardInterrupt

    options = OPTIONS | {"epochs": 3}
    whole = TFWord2Vec(walks, **options)
    kept = {"checkpoint_dir": tmp_path / "checkpoints"}
    with pytest.raises(KeyboardInterrupt):
        TFWord2Vec(walks, **options, **kept, callbacks=[Interrupt()])
    resumed = TFWord2Vec(walks, **options, **kept)
    np.testing.assert_array_equal(resumed.wv.vectors, whole.wv.vectors)


def test_checkpoint_of_other_walks_is_refused(walks, edge_list, tmp_path):
    from gensim_tfw2v.training.checkpoints import CheckpointError

    kept = {"checkpoint_dir": tmp_path / "checkpoints"}
    TFWord2Vec(walks, **OPTIONS, epochs=1, **kept)
    other = RandomWalks(edge_list, 5, 20, p=0.5, q=3)
    with pytest.raises(CheckpointError):
        TFWord2Vec(other, **OPTIONS, epochs=1, **kept)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"num_walks": 0}, ValueError, "num_walks must be a whole number from 1 up, got 0"),
        ({"walk_length": 1.5}, ValueError, "walk_length must be a whole number from 1 up"),
        ({"p": 0}, ValueError, "p must be above 0, got 0"),
        ({"q": -1}, ValueError, "q must be above 0, got -1"),
        ({"q": float("nan")}, ValueError, "q must be a finite number"),
        ({"p": "x"}, TypeError, "p must be a finite number"),
        ({"p": 1e10}, ValueError, r"p=1e\+10 and q=1 .*: choose both, and p / q, from 0.001 to"),
        ({"q": 1e-4}, ValueError, "p=1 and q=0.0001 are too far from 1 or from each other"),
        ({"p": 0.1, "q": 101}, ValueError, "p=0.1 and q=101 are too far from 1 or from each"),
        ({"restart": 1}, ValueError, "restart must be a probability below 1, got 1"),
        ({"restart": -0.1}, ValueError, "restart must be at least 0, got -0.1"),
        ({"extend": True}, ValueError, "extend=True has no effect"),
        ({"start_nodes": "12"}, TypeError, "start_nodes must be several names"),
        ({"start_nodes": []}, ValueError, "start_nodes is empty"),
        ({"start_nodes": ["1", "x"]}, ValueError, "start_nodes has 'x', which is no node"),
        ({"num_walks": 2**30}, ValueError, "walks per epoch, and at most 2,147,483,647"),
    ],
)
def test_invalid_options_are_refused(edge_list, options, error, message):
    with pytest.raises(error, match=message):
        RandomWalks(edge_list, **options)


@pytest.mark.parametrize(
    ("p", "q"), [(1000, 1), (1000, 1000), (0.001, 1), (1, 0.001), (0.1, 100), (10, 0.01)]
)
@pytest.mark.parametrize("weight", [None, "w"])
def test_walks_with_the_most_different_factors_leave_a_node_with_one_edge(p, q, weight, tmp_path):
    path = tmp_path / "star.tsv"
    path.write_text("source\ttarget\tw\na\tb\t1\na\tc\t2\na\td\t3\n")
    nodes = RandomWalks(path, 3, 30, p=p, q=q, weight=weight).sample()
    assert nodes.shape == (12, 30) and (nodes >= 0).all()


def test_documents_are_refused(walks):
    with pytest.raises(TypeError, match="RandomWalks are no documents"):
        TFDoc2Vec(walks, vector_size=8)


def test_damaged_file_is_refused(walks):
    content = np.fromfile(walks._path, np.uint8)
    with pytest.raises(ValueError, match="the file of walks is cut short"):
        walk_shard.draw_walks(content[:-1], 0, 0, 1, 20)
    content[0] = 0
    with pytest.raises(ValueError, match="not a file of walks of this version"):
        walk_shard.draw_walks(content, 0, 0, 1, 20)


def test_temporary_files_are_removed(edge_list):
    walks = RandomWalks(edge_list, 1, 5)
    folder = walks._temporary.folder
    model = TFWord2Vec(walks, **OPTIONS, epochs=1)
    assert folder.exists()
    del walks, model
    assert not folder.exists()
