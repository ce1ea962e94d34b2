import json

import numpy as np
import pytest

from gensim_tfw2v.evaluation import EvaluationFileError, evaluate_edges
from gensim_tfw2v.evaluation.link_prediction import (
    OPERATORS,
    _draw_non_edges,
    area_under_curve,
    unique_pairs,
)
from gensim_tfw2v.evaluation.node_pairs import read_edges
from gensim_tfw2v.walks.graph_readers import read_graph
from tests.evaluation import reference
from tests.evaluation.nodes import planted_edges, planted_groups, write_pairs

SCORES = ["cosine", "dot_product", "average", "hadamard", "weighted_l1", "weighted_l2"]


@pytest.mark.parametrize("seed", range(5))
def test_area_equals_count_of_ordered_pairs(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, size=40).astype(float)  # with many ties
    is_edge = rng.random(40) < 0.4
    expected = reference.area_under_curve(scores[is_edge], scores[~is_edge])
    assert area_under_curve(scores, is_edge) == pytest.approx(expected)


def test_edges_of_planted_groups_are_predicted():
    vectors, groups = planted_groups(noise=0.3)
    score = evaluate_edges(vectors, planted_edges(groups, 400))
    assert list(score.auc) == SCORES
    for name in ("cosine", "dot_product", "hadamard", "weighted_l1", "weighted_l2"):
        assert score.auc[name] > 0.7, name
    assert score.auc["average"] < 0.65  # it can't compare the two nodes


def test_edges_of_random_vectors_are_guessed():
    vectors, groups = planted_groups(n_nodes=150, noise=np.inf)
    score = evaluate_edges(vectors, planted_edges(groups, 3000))
    assert score.auc == pytest.approx(dict.fromkeys(SCORES, 0.5), abs=0.03)


def test_cosine_auc_equals_a_slow_count_over_all_pairs():
    """With as many edges as non-edges, all non-edges are drawn, so the expected value is exact."""
    vectors, groups = planted_groups(n_groups=2, n_nodes=5, noise=0.6)
    all_pairs = [(str(a), str(b)) for a in range(10) for b in range(a)]
    edges = planted_edges(groups, 22)
    score = evaluate_edges(vectors, edges, known_edges=[("0", "0"), free_pair(edges)])
    without_edge = {frozenset(pair) for pair in all_pairs}
    without_edge -= {frozenset(pair) for pair in [*edges, free_pair(edges)]}
    assert len(without_edge) == 22

    def cosines(pairs):
        return [reference.cosine(vectors[a], vectors[b]) for a, b in map(tuple, pairs)]

    expected = reference.area_under_curve(cosines(edges), cosines(without_edge))
    assert score.auc["cosine"] == pytest.approx(expected, abs=1e-6)


def free_pair(edges):
    """Return the first pair of the nodes 0 to 9 that has no edge."""
    taken = set(map(frozenset, edges))
    pairs = [(str(a), str(b)) for a in range(10) for b in range(a)]
    return next(pair for pair in pairs if frozenset(pair) not in taken)


def test_cross_validated_areas_equal_those_of_scikit_learn():
    linear_model = pytest.importorskip("sklearn.linear_model")
    metrics = pytest.importorskip("sklearn.metrics")
    from gensim_tfw2v.evaluation.link_prediction import N_FOLDS, _cross_validated_auc

    rng = np.random.default_rng(3)
    is_edge = np.arange(400) < 200
    features = (rng.normal(size=(400, 5)) + 0.4 * is_edge[:, None]).astype(np.float32)
    folds = np.concatenate([rng.permutation(200), rng.permutation(200)]) % N_FOLDS
    areas = []
    for fold in range(N_FOLDS):
        tested = folds == fold
        model = linear_model.LogisticRegression(C=1).fit(features[~tested], is_edge[~tested])
        odds = model.decision_function(features[tested])
        areas.append(metrics.roc_auc_score(is_edge[tested], odds))
    assert 0.6 < np.mean(areas) < 0.95
    assert _cross_validated_auc(features, is_edge, folds) == pytest.approx(np.mean(areas), abs=1e-3)


def test_non_edges_are_drawn_uniformly_without_edges_and_repetitions():
    rng = np.random.default_rng(5)
    edges = unique_pairs(np.array([[0, 1], [3, 2], [4, 0], [2, 5]]), 6)
    counts = {}
    for _ in range(2000):
        drawn = [tuple(pair) for pair in _draw_non_edges(rng, edges, 6, 4).tolist()]
        assert len(set(drawn)) == 4 and all(a < b for a, b in drawn)
        for pair in drawn:
            counts[pair] = counts.get(pair, 0) + 1
    assert len(counts) == 15 - 4 and not counts.keys() & set(map(tuple, edges.tolist()))
    expected = 2000 * 4 / 11
    assert sum((count - expected) ** 2 / expected for count in counts.values()) < 30  # p < 0.001


def test_operators_are_those_of_node2vec():
    first, second = np.array([[1.0, -2.0]]), np.array([[3.0, 4.0]])
    features = {name: operator(first, second).tolist() for name, operator in OPERATORS.items()}
    assert features == {
        "average": [[2, 1]],
        "hadamard": [[3, -8]],
        "weighted_l1": [[2, 6]],
        "weighted_l2": [[4, 36]],
    }


def test_five_edges_are_enough():
    vectors, groups = planted_groups()
    score = evaluate_edges(vectors, planted_edges(groups, 5))
    assert score.used == 5 and all(0 <= area <= 1 for area in score.auc.values())


def test_repeated_edges_self_loops_and_unknown_nodes_are_counted(tmp_path):
    vectors, groups = planted_groups()
    edges = planted_edges(groups, 100)
    extra = [edges[0], edges[1][::-1], ("7", "7"), ("7", "7"), ("7", "x"), ("x", "y")]
    path = write_pairs(tmp_path / "edges.tsv", [(*edge, 2.5) for edge in [*edges, *extra]])
    score = evaluate_edges(vectors, path)
    assert (score.edges, score.used, score.without_vector, score.self_loops) == (102, 100, 2, 1)
    assert score.auc == evaluate_edges(vectors, sorted(edges)).auc
    assert json.loads(json.dumps(score.to_dict(), allow_nan=False)) == score.to_dict()


def test_more_edges_than_the_maximum_are_sampled():
    vectors, groups = planted_groups()
    edges = planted_edges(groups, 600)
    score = evaluate_edges(vectors, edges, max_edges=300)
    assert (score.edges, score.used, score.without_vector) == (600, 300, 0)
    expected = evaluate_edges(vectors, edges).auc
    assert score.auc == pytest.approx(expected, abs=0.06) and score.auc != expected
    with pytest.raises(ValueError, match="max_edges must be at least 5, got 4"):
        evaluate_edges(vectors, edges, max_edges=4)


def test_rows_of_arrays_are_edges():
    vectors, groups = planted_groups()
    numbered = type(vectors)(vectors.vector_size)
    numbered.add_vectors(range(200), vectors.vectors)
    edges = planted_edges(groups, 100)
    array = np.array(edges).astype(np.int64)
    assert evaluate_edges(numbered, array) == evaluate_edges(vectors, edges)


def test_order_of_edges_and_nodes_does_not_change_the_score():
    vectors, groups = planted_groups()
    edges = planted_edges(groups, 100)
    turned = [edge[::-1] for edge in reversed(edges)]
    assert evaluate_edges(vectors, turned) == evaluate_edges(vectors, edges)
    assert evaluate_edges(vectors, edges, seed=1) != evaluate_edges(vectors, edges)


def test_zero_vectors_have_a_cosine_of_zero(keyed):
    vectors, groups = planted_groups()
    vectors.vectors[:50] = 0
    score = evaluate_edges(vectors, planted_edges(groups, 100))
    assert all(0 <= area <= 1 for area in score.auc.values())


@pytest.mark.parametrize(
    ("edges", "known", "message"),
    [
        ([("x", "y")], None, "no node has a vector: the nodes are 'x', 'y', those of the model"),
        (
            [("0", "1"), ("0", "x")],
            None,
            "1 of 2 edges have vectors of both nodes; give at least 5",
        ),
        ([(str(n), str(n + 1)) for n in range(9)], [("x", "y")], "no node has a vector"),
        (["01"], None, "edges must be pairs of nodes, got '01'"),
        ([(str(a), str(b)) for a in range(8) for b in range(a)], None, "28 edges need .* only 17"),
    ],
)
def test_unusable_edges_raise(edges, known, message):
    vectors, _ = planted_groups(n_groups=2, n_nodes=5)
    with pytest.raises(ValueError, match=message):
        evaluate_edges(vectors, edges, known_edges=known)


def test_bad_line_raises_with_its_number(tmp_path):
    (tmp_path / "edges.tsv").write_text("0\t1\n2\n")
    with pytest.raises(
        EvaluationFileError, match=r"edges.tsv, line 2: expected two nodes, got \['2'\]"
    ):
        evaluate_edges(planted_groups()[0], tmp_path / "edges.tsv")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("e.tsv", "source\trelation\ttarget\na\tx\tb\nb\ty\tc\n"),
        ("e.csv", "weight,source,target\n2,a,b\n3,b,c\n"),
        ("e.txt", "weight source target\n2 a b\n3 b c\n"),
        ("e.txt", "user item year\n1 2 1999\n2 3 2000\n"),
        ("e.txt", "# comment\n% a b\na b .5\n\nb c 2\n"),
        ("e.txt", "  a b {}\r\nb c {}\r\n"),
        ("e.txt", "a\u00a0b c\u2003\nc\u2003 \u3000d\n"),
        ("e.tsv", "New York \tRome\r\nRome\tParis\r\n"),
        ("e.csv.txt", "a,b c\nc d\n"),
        ("e.csv", "#a,b\n%c,b\n"),
        ("e.csv", 'a;b\n\nb;"c;d"\n'),
        ("e.csv", "a\tb\nb\tc,d\n"),
        ("e.csv", '"a, b",c\nc, d\n'),
    ],
)
def test_files_of_edges_are_read_as_walks_read_them(tmp_path, name, text):
    pytest.importorskip("pyarrow")
    path = tmp_path / name
    path.write_bytes(text.encode())
    graph = read_graph(path)
    rows = np.repeat(np.arange(graph.n_nodes), np.diff(graph.offsets))
    arcs = zip(rows.tolist(), graph.neighbours.tolist(), strict=True)
    expected = {frozenset(graph.names[node] for node in arc) for arc in arcs}
    assert {*map(frozenset, read_edges(path))} == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("e.txt", "a b 1 2\n", "has 4 columns in its first row.*let its first row name them"),
        ("e.txt", "a b x\nb c y\n", "has 'x' as the third column"),
        ("e.txt", "a b 1\nb c\n", "line 2: expected two nodes in 3 columns, as in the first"),
        ("e.csv", 'a,b\n"b" x,c\n', "line 2: .*put quotes around whole cells only"),
        ("e.txt", "# comment\n", "contains no line to evaluate"),
    ],
)
def test_files_without_two_columns_of_nodes_raise(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(EvaluationFileError, match=f"{name}.*{message}"):
        read_edges(tmp_path / name)


def test_non_edges_of_a_dense_graph_are_drawn():
    rng = np.random.default_rng(5)
    pairs = np.stack(np.triu_indices(300, 1), axis=1)
    missing = pairs[rng.choice(len(pairs), 12, replace=False)]
    edges = np.array([pair for pair in pairs.tolist() if pair not in missing.tolist()])
    drawn = _draw_non_edges(rng, edges, 300, 12)
    assert sorted(drawn.tolist()) == sorted(missing.tolist())
    assert len({*map(tuple, _draw_non_edges(rng, edges, 300, 5).tolist())}) == 5
