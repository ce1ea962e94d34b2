import gzip
import json

import numpy as np
import pytest

from gensim_tfw2v.evaluation import EvaluationFileError, evaluate_labels
from gensim_tfw2v.evaluation.node_labels import f1_scores, predict_labels
from gensim_tfw2v.evaluation.node_pairs import read_labels
from tests.evaluation import reference
from tests.evaluation.nodes import planted_groups, write_pairs


def two_labels_each(groups):
    """Return pairs of node and label: the group, and for every third node the next one, too."""
    n_groups = max(groups) + 1
    pairs = [(str(node), f"group {group}") for node, group in enumerate(groups)]
    pairs += [
        (str(node), f"group {(group + 1) % n_groups}")
        for node, group in enumerate(groups)
        if node % 3 == 0
    ]
    return pairs


def test_labels_of_planted_groups_are_predicted():
    vectors, groups = planted_groups(noise=0.3)
    score = evaluate_labels(vectors, two_labels_each(groups))
    assert [one.train_share for one in score.f1] == [0.1, 0.5, 0.9]
    assert min(one.micro for one in score.f1) > 0.8 and score.f1[1].macro > 0.9
    assert (score.labels, score.nodes, score.used, score.unlabelled) == (4, 200, 200, 0)


def test_labels_of_random_vectors_are_guessed():
    vectors, groups = planted_groups(n_nodes=250, noise=np.inf)
    score = evaluate_labels(vectors, enumerate_labels(groups), train_shares=[0.5])
    assert score.f1[0].micro == pytest.approx(0.25, abs=0.03)
    assert score.f1[0].macro == pytest.approx(0.25, abs=0.03)


def enumerate_labels(groups):
    return [(str(node), group) for node, group in enumerate(groups)]


def test_scores_equal_those_of_scikit_learn():
    linear_model = pytest.importorskip("sklearn.linear_model")
    metrics = pytest.importorskip("sklearn.metrics")
    vectors, groups = planted_groups(n_groups=5, n_nodes=60, noise=1.5)
    pairs = two_labels_each(groups)
    score = evaluate_labels(vectors, pairs, train_shares=[0.3], n_splits=3, seed=7)
    targets = np.zeros((300, 5), dtype=int)
    for node, label in pairs:
        targets[int(node), int(label.split()[1])] = 1
    f1 = []
    for split in range(3):
        order = np.random.default_rng([7, split]).permutation(300)
        training, test = order[:90], order[90:]
        log_odds = [
            linear_model.LogisticRegression(C=1, max_iter=1000)
            .fit(vectors.vectors[training], labelled)
            .decision_function(vectors.vectors[test])
            for labelled in targets[training].T
        ]
        predicted = np.zeros_like(targets[test])
        for row, odds in enumerate(np.array(log_odds).T):
            predicted[row, np.argsort(-odds)[: targets[test][row].sum()]] = 1
        f1.append(
            [metrics.f1_score(targets[test], predicted, average=a) for a in ("micro", "macro")]
        )
    found = score.f1[0]
    assert 0.3 < found.micro < 0.9
    assert (found.micro, found.macro) == pytest.approx(np.mean(f1, axis=0), abs=0.005)
    assert (found.micro_std, found.macro_std) == pytest.approx(np.std(f1, axis=0), abs=0.005)


@pytest.mark.parametrize("seed", range(5))
def test_f1_equals_slow_reference(seed):
    rng = np.random.default_rng(seed)
    targets, predicted = rng.random((2, 12, 4)) < 0.3
    targets[:, 3], predicted[0, 3] = False, True  # predicted, but never right
    micro, macro = f1_scores(targets, predicted)
    sets = [[set(np.flatnonzero(row)) for row in matrix] for matrix in (targets, predicted)]
    assert (micro, macro) == pytest.approx(reference.f1(*sets))


def test_f1_equals_that_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    targets, predicted = np.random.default_rng(1).random((2, 50, 6)) < 0.4
    targets[:, 5], predicted[:, 5] = False, False  # a label that is neither predicted nor right
    expected = [
        metrics.f1_score(targets, predicted, average=average, zero_division=0)
        for average in ("micro", "macro")
    ]
    assert f1_scores(targets, predicted) == pytest.approx(expected)


def test_as_many_labels_are_predicted_as_a_node_has():
    log_odds = np.array([[0.1, -2, 3], [5, 4, 3], [-np.inf, -1, np.inf]])
    predicted = predict_labels(log_odds, np.array([1, 3, 2]))
    assert predicted.tolist() == [[False, False, True], [True] * 3, [False, True, True]]


def test_labels_of_no_or_all_training_nodes_are_scored():
    vectors, groups = planted_groups(n_groups=3, n_nodes=20, noise=0.1)
    pairs = [*enumerate_labels(groups), ("0", "rare"), *((str(n), "all") for n in range(60))]
    score = evaluate_labels(vectors, pairs, train_shares=[0.5], n_splits=4)
    # four labels are predicted perfectly, and the fifth never: only one node has it
    assert score.f1[0].macro == pytest.approx(4 / 5, abs=0.02)
    assert score.labels == 5


def test_nodes_without_vector_or_label_are_counted(tmp_path):
    vectors, groups = planted_groups()
    pairs = [("node", "label"), ("x", "a"), ("x", "b"), *enumerate_labels(groups)[:150]]
    score = evaluate_labels(vectors, write_pairs(tmp_path / "nodes.tsv", pairs))
    assert (score.nodes, score.used, score.unlabelled) == (152, 150, 50)
    assert score.labels == 4  # those of "x" and the names of columns are not counted
    assert json.loads(json.dumps(score.to_dict(), allow_nan=False)) == score.to_dict()


def test_seed_determines_the_splits():
    vectors, groups = planted_groups(noise=2)
    scores = [evaluate_labels(vectors, enumerate_labels(groups), seed=seed) for seed in (1, 1, 2)]
    assert scores[0] == scores[1] != scores[2]
    assert scores[0].f1[0].micro_std > 0


def test_one_split_has_no_deviation():
    vectors, groups = planted_groups(noise=2)
    score = evaluate_labels(vectors, enumerate_labels(groups), n_splits=1)
    assert score.f1[0].micro > 0 and score.f1[0].micro_std == score.f1[0].macro_std == 0


def test_integer_keys_are_found_by_their_digits(tmp_path):
    vectors, groups = planted_groups()
    numbered = type(vectors)(vectors.vector_size)
    numbered.add_vectors(range(200), vectors.vectors)
    pairs = enumerate_labels(groups)
    path = write_pairs(tmp_path / "nodes.tsv", pairs)
    expected = evaluate_labels(vectors, pairs)
    assert evaluate_labels(numbered, path) == expected
    assert evaluate_labels(numbered, enumerate(groups.tolist())) == expected


@pytest.mark.parametrize(
    ("name", "separator"),
    [("nodes", "\t"), ("nodes", "   "), ("a.csv", ","), ("a.CSV", ";"), ("a.csv", "\t")],
)
def test_separator_is_that_of_the_first_line_and_the_suffix(tmp_path, name, separator):
    vectors, groups = planted_groups()
    lines = [f"{node}{separator}{label}\n" for node, label in enumerate_labels(groups)]
    (tmp_path / name).write_text("# nodes\n%\n\n" + "".join(lines))
    score = evaluate_labels(vectors, tmp_path / name)
    assert (score.nodes, score.used, score.labels) == (200, 200, 4)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("nodes.tsv", "New York\ta,b c\nParis, Texas\td\n"),
        ("nodes.csv.gz", 'New York,"a,b c"\n"Paris, Texas",d\n'),
    ],
)
def test_names_may_contain_blanks_and_commas(tmp_path, keyed, name, text):
    opened = gzip.open if name.endswith(".gz") else open
    with opened(tmp_path / name, "wt") as file:
        file.write(text)
    vectors = keyed({"New York": (1, 0), "Paris, Texas": (0, 1)})
    score = evaluate_labels(vectors, tmp_path / name, train_shares=[0.5])
    assert (score.nodes, score.used, score.labels) == (2, 2, 2)


@pytest.mark.parametrize(
    ("name", "text", "pairs"),
    [
        ("a.csv", "#x,red\n%y,blue\nz, green\n", [("z", "green")]),
        ("a.txt", "#x red\n%y blue\nz green\n", [("z", "green")]),
        ("a.txt", "x\u00a0y red\n", [("x\u00a0y", "red")]),
        ("a.txt", "x\tred \ny\tblue\r\n", [("x", "red"), ("y", "blue")]),
    ],
)
def test_names_of_nodes_are_read_as_walks_read_them(tmp_path, name, text, pairs):
    (tmp_path / name).write_bytes(text.encode())
    assert read_labels(tmp_path / name) == pairs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no line"),
        ("0\ta\n1\n", r"line 2: expected a node and a label, got \['1'\]; separate names by"),
        ("0\ta\tb\n", "line 1: expected a node and a label"),
        ("0\t\n", "line 1: expected a node and a label"),
    ],
)
def test_bad_line_raises_with_its_number(tmp_path, text, message):
    (tmp_path / "nodes.tsv").write_text(text)
    with pytest.raises(EvaluationFileError, match=f"nodes.tsv.*{message}"):
        evaluate_labels(planted_groups()[0], tmp_path / "nodes.tsv")


@pytest.mark.parametrize(
    ("pairs", "options", "message"),
    [
        ([("x", "a"), ("y", "b")], {}, "no node has a vector: the nodes are 'x', 'y', those of .*"),
        ([], {}, "no node has a vector: the nodes are none, those of the model '0', '1', '2', ..."),
        ([("0", "a"), ("1", "a")], {}, "all nodes have the same label, 'a'"),
        ([("0", "a")], {}, "all nodes have the same label, 'a'"),
        ([("0", "a"), ("1", "b")], {}, "2 nodes have a label and a vector, too few for .* 10%"),
        ([("0", "a"), ("1", "b")], {"train_shares": [1.5]}, r"between 0 and 1, got \[1.5\]"),
        ([("0", "a"), ("1", "b")], {"n_splits": 0}, "n_splits must be at least 1, got 0"),
        ({"10": "a"}, {}, "labels must be pairs of a node and a label, got '10'"),
    ],
)
def test_too_few_labels_raise(pairs, options, message):
    with pytest.raises(ValueError, match=message):
        evaluate_labels(planted_groups()[0], pairs, **options)
