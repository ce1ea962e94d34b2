"""Invalid input raises an error that names it, and leaves the model unchanged to the byte."""

import bz2
import copy
import functools
import gzip
import lzma
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors, Word2Vec
from gensim.models.word2vec import LineSentence, PathLineSentences
from gensim.test.utils import common_texts

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.monitor.tensorboard_log import TensorBoardLog
from gensim_tfw2v.options.regimes import Downpour, Sandblaster, SubModels, Synchronous

NAN, INF, HUGE = float("nan"), float("inf"), 10**400
BOTH = (TypeError, ValueError)


@functools.cache
def _built(**options):
    model = TFWord2Vec(**{"min_count": 1, "vector_size": 4, "workers": 1, **options})
    model.build_vocab(common_texts)
    return model


def built(**options):
    return copy.deepcopy(_built(**options))


def frozen(value):
    """Return a value that can be compared for equality; arrays are compared by their bytes."""
    if isinstance(value, np.ndarray):
        data = list(map(repr, value.ravel())) if value.dtype == object else value.tobytes()
        return value.shape, str(value.dtype), data
    if isinstance(value, dict):
        return {name: frozen(of) for name, of in value.items()}
    if isinstance(value, KeyedVectors):
        return frozen(vars(value))
    if isinstance(value, np.random.RandomState):
        return frozen(dict(value.get_state(legacy=False)))
    return repr(value)


def seen(model):
    """Return the public attributes of a model, for comparison."""
    return frozen({name: of for name, of in vars(model).items() if not name.startswith("_")})


def refused(model, call, error, says):
    """Assert that a call raises this error and leaves the model unchanged."""
    before = seen(model)
    with pytest.raises(error, match=says) as caught:
        call()
    assert str(caught.value)
    assert seen(model) == before


def rows(table):
    """Parameters of a test, with ids; rows are (option, value, error, message)."""
    found = []
    for name, *row in table:
        shown = re.sub(r"\W+", "-", repr(row[0]))[:40].strip("-")
        found.append(pytest.param(name, *row, id=f"{name}-{shown}-{len(found)}"))
    return found


#: (option, value, error, message), in the constructor or as an attribute that `train` checks.
BAD_OPTIONS = [
    *(("vector_size", bad, TypeError, "vector_size must be a whole") for bad in ("100", 4.0)),
    *(("vector_size", bad, TypeError, "vector_size must be a") for bad in (None, [4], 4.5, NAN)),
    *(("vector_size", bad, ValueError, "vector_size must be at least 1") for bad in (0, -4)),
    *(("vector_size", bad, ValueError, "vector_size must be at most") for bad in (1 << 31, HUGE)),
    *((name, HUGE, ValueError, f"{name} must be a finite") for name in ("alpha", "ns_exponent")),
    *(("sample", bad, ValueError, "sample must be") for bad in (1e308, HUGE)),
    *(("window", bad, ValueError, "window must be a whole number") for bad in (2.5, NAN, INF)),
    *(("window", bad, BOTH, "window must be a whole number.*of type") for bad in ("x", None, [5])),
    *(("window", bad, ValueError, "window must be at least 1, got") for bad in (0, -1, False)),
    ("window", 1 << 31, ValueError, "window must be at most 2,147,483,646"),
    *(("workers", bad, TypeError, "workers must be a whole number") for bad in (None, [], {})),
    *(("workers", bad, ValueError, "workers must be at least 1") for bad in (0, -1)),
    *(("workers", bad, ValueError, "workers must be a whole number") for bad in (1.5, NAN)),
    *(("negative", bad, ValueError, "negative must be a whole number") for bad in (1.5, NAN, -INF)),
    ("negative", None, TypeError, "negative must be a whole number, got None"),
    ("negative", "five", BOTH, "negative must be a whole number, got 'five'"),
    ("negative", -1, ValueError, "negative must be at least 0"),
    *(("negative", bad, ValueError, "negative must be at most") for bad in (1 << 31, 9_000_000)),
    *(("sg", bad, BOTH, "sg must be a whole number") for bad in (None, "skipgram", 0.5, NAN)),
    *(("hs", bad, BOTH, "hs must be a whole number") for bad in (None, "yes", 0.5)),
    *(("cbow_mean", bad, BOTH, "cbow_mean must be a whole number") for bad in (None, "mean", 0.5)),
    *(("alpha", bad, ValueError, "alpha must be a finite number") for bad in (NAN, INF, -INF)),
    *(("alpha", bad, BOTH, "alpha must be a finite number.*of type") for bad in ("x", None, [])),
    ("alpha", 1j, TypeError, "alpha must be a finite number"),
    *(("min_alpha", bad, BOTH, "min_alpha must be a finite") for bad in (NAN, INF, "x", None)),
    *(("sample", bad, ValueError, "sample must be a finite number or None") for bad in (NAN, INF)),
    *(("sample", bad, TypeError, "sample must be a finite number") for bad in ("1e-3", [1e-3])),
    *(("ns_exponent", bad, BOTH, "ns_exponent must be a finite") for bad in (NAN, INF, "x", None)),
    *(("min_count", bad, TypeError, "min_count must be a number") for bad in (None, "5", NAN, [])),
    *(("max_vocab_size", bad, BOTH, "max_vocab_size must be a number") for bad in ("9", NAN)),
    *(("max_final_vocab", bad, TypeError, "max_final_vocab must") for bad in ("9", 9.5, NAN)),
    *(("batch_words", bad, BOTH, "batch_words must be") for bad in (None, "9", NAN)),
    *(("seed", bad, BOTH, "seed must be a whole number") for bad in ("x", 1.5, {"a": 1})),
    *(("checkpoint_minutes", bad, ValueError, "must be above 0") for bad in (0, -1, -INF)),
    *(("checkpoint_minutes", bad, BOTH, "must be a number") for bad in (NAN, "10", None)),
    *(("checkpoint_dir", bad, TypeError, "checkpoint_dir must be the path") for bad in (5, b"x")),
    ("checkpoint_dir", "", ValueError, "checkpoint_dir is an empty path"),
    *(("encoded_dir", bad, TypeError, "encoded_dir must be the path") for bad in (5, [])),
    *(("tables_dir", bad, BOTH, "tables_dir") for bad in (5, "", True)),
    *(("progress", bad, TypeError, "progress must be True, False") for bad in ("no", 2, [])),
    *(("log_dir", bad, ValueError, "log_dir must be the path of a folder") for bad in (5, "", [])),
    *(("layout", bad, ValueError, "layout is .*'columns'") for bad in ([], "diagonal")),
    *(("layout", bad, ValueError, "layout is .*use 'rows'") for bad in (None, 5, {})),
    ("layout", "columns", ValueError, "set cluster"),
    *(("wire", bad, ValueError, "wire is .*use 'int8'") for bad in (None, 8, "int4", [])),
    *(("cluster", bad, ValueError, "cluster is .*give") for bad in (5, "", [], "local", "x:1")),
    *(("cluster", bad, ValueError, "cluster is") for bad in ("local:ps=0,worker=1", "local:ps=1")),
    *(("cluster", f"local:ps={bad},worker=1", ValueError, "to 9999") for bad in ("1٣", "9" * 20)),
    ("cluster", "TF_CONFIG", ValueError, "TF_CONFIG"),
    *(("regime", bad, ValueError, "regime is .*use 'async") for bad in (5, "", "fast", [])),
    ("regime", Downpour, ValueError, "regime is"),
    ("regime", "downpour:speed=9", ValueError, "has no option 'speed'.*known: n_fetch"),
    ("regime", "asynchronous:steps=1", ValueError, "has no option 'steps'.*it has none"),
    ("regime", f"downpour:n_fetch={'9' * 20}", ValueError, "n_fetch must be a whole number"),
    *(
        ("regime", f"downpour:{bad}", ValueError, says)
        for bad, says in (
            ("n_fetch=0", "n_fetch must be a whole number from 1"),
            ("n_push=-1", "n_push must be a whole number from 1"),
            ("n_push=2.5", "n_push is '2.5': use a whole number"),
            ("n_push", "n_push is ''"),
            ("adagrad=yes", "adagrad is 'yes': use true or false"),
            ("warm_start=2", "warm_start must be from 0 to 1"),
            ("warm_start=nan", "warm_start is 'nan': use a finite number"),
        )
    ),
    ("regime", "synchronous:steps=0", ValueError, "steps must be a whole number from 1"),
    ("regime", "synchronous:combining=mean", ValueError, "combining is 'mean': use 'adasum' or"),
    ("regime", "submodels:models=0", ValueError, "models must be a whole number from 1"),
    ("regime", "submodels:rate=0", ValueError, "rate must be above 0"),
    ("regime", "submodels:rate=nan", ValueError, "rate is 'nan': use a finite number"),
    ("regime", "submodels:sampling=equal,rate=.5", ValueError, "leave out rate"),
    ("regime", "submodels:merging=mean", ValueError, "merging is 'mean'"),
    ("regime", "sandblaster:history=0", ValueError, "history must be a whole number from 1"),
    ("regime", "sandblaster", ValueError, "set corrected_cbow=True"),
]  # fmt: skip

#: Checked only by the constructor.
OF_THE_CONSTRUCTOR = [
    ("epochs", "2", TypeError, "epochs must be a whole number"),
    ("epochs", 1.5, TypeError, "epochs must be a whole number"),
    ("epochs", NAN, TypeError, "epochs must be a whole number"),
    ("epochs", 0, ValueError, "explicit epochs count"),
    ("epochs", -1, ValueError, "explicit epochs count"),
    ("seed", -1, ValueError, "seed must be a whole number from 0"),
    ("seed", 2**32, ValueError, "seed must be .*got 4294967296"),
    ("trim_rule", "keep", TypeError, "trim_rule must be a function"),
    ("callbacks", 5, TypeError, "callbacks must be a list of callbacks, got 5: pass"),
    ("callbacks", None, TypeError, "callbacks must be a list"),
    ("callbacks", [5], TypeError, "has no on_train_begin.*CallbackAny2Vec"),
    ("colour", "red", TypeError, "unexpected keyword argument 'colour'"),
    ("size", 100, TypeError, "has no 'size': gensim 4 calls it vector_size"),
]

#: Arguments of `train`, added to a corpus, `total_examples` and `epochs`.
BAD_ARGUMENTS = [
    *(("epochs", bad, TypeError, "epochs must be a whole number") for bad in ("2", 1.5, [])),
    *(("epochs", bad, ValueError, "explicit epochs count") for bad in (0, -1, None, False)),
    *(("start_alpha", bad, ValueError, "start_alpha must be a finite") for bad in (NAN, INF)),
    *(("start_alpha", bad, TypeError, "start_alpha must be a finite") for bad in ("x", "0.1", [])),
    *(("end_alpha", bad, BOTH, "end_alpha must be a finite") for bad in (NAN, -INF, "x")),
    *(("total_examples", bad, BOTH, "total_examples must be a") for bad in ("9", NAN, INF, [])),
    *(("total_words", bad, BOTH, "total_words must be a finite") for bad in ("9", NAN, {})),
    ("total_examples", None, ValueError, "You must specify either total_examples or total_words"),
    *(("report_delay", bad, BOTH, "report_delay must be") for bad in ("1", NAN, None)),
    *(("callbacks", bad, TypeError, "callbacks must be a list") for bad in (5, None)),
    *(("callbacks", bad, TypeError, "no on_train_begin") for bad in ([None], ("x",))),
    ("colour", "red", TypeError, "unexpected keyword argument 'colour'"),
    ("corpus_file", "corpus.txt", TypeError, "Both corpus_file and corpus_iterable"),
    ("corpus_iterable", None, TypeError, "Either one of corpus_file or corpus_iterable"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "bad", "error", "says"), rows(BAD_OPTIONS + OF_THE_CONSTRUCTOR))
def test_bad_constructor_option_raises(name, bad, error, says, monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    with pytest.raises(error, match=says):
        TFWord2Vec(common_texts, **{"min_count": 1, "vector_size": 4, name: bad})


#: Options that `train` checks again, as attributes.
CHANGED_LATER = [
    row for row in BAD_OPTIONS if row[0] not in ("cluster", "regime", "layout", "wire")
]
#: Attributes that are no arguments of the constructor.
OF_MODELS = [
    ("negative_shards", bad, BOTH, "negative_shards must be") for bad in (0, 1.5, "2", None)
]


@pytest.mark.parametrize(("name", "bad", "error", "says"), rows(CHANGED_LATER[::2] + OF_MODELS))
def test_bad_attribute_raises_in_train(name, bad, error, says):
    model = built()
    setattr(model, name, bad)
    call = functools.partial(model.train, common_texts, total_examples=9, epochs=1)
    refused(model, call, error, says)


@pytest.mark.parametrize(("name", "bad", "error", "says"), rows(BAD_ARGUMENTS))
def test_bad_argument_of_train_raises(name, bad, error, says):
    model = built()
    given = {"corpus_iterable": common_texts, "total_examples": 9, "epochs": 1, name: bad}
    refused(model, lambda: model.train(**given), error, says)


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: Downpour(n_fetch=1.0), ValueError, "n_fetch must be a whole"),
        (lambda: Downpour(n_fetch=True), ValueError, "n_fetch must be a whole"),
        (lambda: Downpour(n_push="8"), ValueError, "n_push must be a whole"),
        (lambda: Downpour(adagrad="yes"), ValueError, "adagrad must be True or False"),
        (lambda: Downpour(warm_start="all"), ValueError, "warm_start must be from 0 to 1"),
        (lambda: Downpour(fetch=1), TypeError, "unexpected keyword argument 'fetch'"),
        (lambda: Synchronous(steps=2**31), ValueError, "steps must be a whole .*2,147,483,647"),
        (lambda: Synchronous(combining=None), ValueError, "combining is None"),
        (lambda: SubModels(models=None), ValueError, "models must be a whole"),
        (lambda: SubModels(rate="half"), ValueError, "rate must be above 0 and at most 1"),
        (lambda: SubModels(rate=1.5), ValueError, "rate must be above 0 and at most 1"),
        (lambda: SubModels(sampling="some"), ValueError, "sampling is 'some'"),
        (lambda: Sandblaster(history=[]), ValueError, "history must be a whole"),
        (lambda: TensorBoardLog("x", projector_words=-1), ValueError, "projector_words must be"),
        (lambda: TensorBoardLog("x", projector_words=NAN), ValueError, "projector_words must be"),
        (lambda: TensorBoardLog("x", projector_words="9"), ValueError, "projector_words must be"),
        (lambda: TensorBoardLog("x", word_pairs="ws353"), ValueError, "word_pairs must be a list"),
        (lambda: TensorBoardLog("x", probe_words="the"), ValueError, "probe_words must be a list"),
    ],
)
def test_bad_option_of_a_regime_or_log_object_raises(make, error, says):
    with pytest.raises(error, match=says):
        make()


#: Texts, and exponents that give no usable weights for their counts.
NO_NOISE = [
    *((common_texts, bad) for bad in (1000, -1e308, 600.0, "1000")),
    ([["a"] * 9, ["b"] * 2], -2000),  # all weights are 0
    ([["a"], ["b"] * 2], 2000),
]


@pytest.mark.parametrize(("texts", "exponent"), NO_NOISE)
def test_ns_exponent_without_usable_weights_raises(texts, exponent):
    model = TFWord2Vec(min_count=1, vector_size=4, ns_exponent=exponent)
    with pytest.raises(ValueError, match=r"ns_exponent=.*, are all 0, too large"):
        model.build_vocab(texts)


@pytest.mark.parametrize("counts", [{"a": -1, "b": 5}, {"a": -3, "b": -2}], ids=str)
def test_negative_counts_raise(counts):
    model = TFWord2Vec(min_count=-9, vector_size=4, sample=0)
    with pytest.raises(ValueError, match="from -.* to .*ns_exponent=0.75, are all 0"):
        model.build_vocab_from_freq(counts)


@pytest.mark.parametrize(
    ("texts", "options"),
    [
        ([["a"], ["b"] * 2], {"ns_exponent": -2000}),  # only a is drawn
        ([["a"], ["b"]], {"ns_exponent": 1e308}),
        (common_texts, {"ns_exponent": 400}),
        (common_texts, {"ns_exponent": "0.75"}),
        (common_texts, {"ns_exponent": 1000, "negative": 0, "hs": 1}),
        (common_texts, {"sample": 1e30}),
        (common_texts, {"batch_words": HUGE, "workers": HUGE, "max_vocab_size": HUGE}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else None,
)
def test_extreme_options_that_gensim_trains_are_trained(texts, options):
    model = TFWord2Vec(texts, min_count=1, vector_size=4, **options)
    expected = Word2Vec(min_count=1, vector_size=4, **options)
    expected.build_vocab(texts)
    assert np.isfinite(model.wv.vectors).all()
    if model.negative:
        np.testing.assert_array_equal(model.cum_table, expected.cum_table)


def expando(name, value):
    def change(model):
        model.wv.expandos[name] = value(model.wv.expandos[name])

    return change


def no_expando(name):
    return lambda model: model.wv.expandos.pop(name)


def table(name, value):
    """Change an array of the model, or of its `wv`, by a function."""

    def change(model):
        of = model.wv if name.startswith("vectors") else model
        setattr(of, name, value(getattr(of, name)))

    return change


def without(name):
    return lambda model: delattr(model, name)


def index(key, value):
    return lambda model: model.wv.key_to_index.__setitem__(key, value)


def nan_at_3(rows):
    rows = rows.copy()
    rows[3, 1] = NAN
    return rows


NEGATIVE, TREE = {}, {"hs": 1, "negative": 0}
ARRAYS = [("vectors", NEGATIVE), ("syn1neg", NEGATIVE), ("syn1", TREE)]
#: (id, options of the model, change, error, message).
BAD_STATES = [
    *(
        (f"{name}: {what}", options, table(name, change), error, f"{name} {says}")
        for name, options in ARRAYS
        for what, change, error, says in (
            ("fewer rows", lambda rows: rows[:-5], ValueError, r"has the shape \(7, 4\), but 12"),
            (
                "more rows",
                lambda rows: np.vstack([rows, rows]),
                ValueError,
                r"has the shape \(24, 4",
            ),
            (
                "fewer columns",
                lambda rows: rows[:, :3].copy(),
                ValueError,
                r"has the shape \(12, 3",
            ),
            ("transposed", lambda rows: rows.T, ValueError, r"has the shape \(4, 12\)"),
            ("flat", lambda rows: rows.ravel(), ValueError, r"has the shape \(48,\)"),
            ("three axes", lambda rows: rows[None], ValueError, r"has the shape \(1, 12, 4\)"),
            ("objects", lambda rows: rows.astype(object), TypeError, "must be .* of object"),
            ("text", lambda rows: rows.astype(str), TypeError, "must be .*ndarray of <U"),
            ("complex", lambda rows: rows.astype(complex), TypeError, "must be .* of complex"),
            ("a list", lambda rows: rows.tolist(), TypeError, "must be a NumPy array.*got list"),
            ("a NaN", nan_at_3, ValueError, "holds 1 rows that are not finite, the first for"),
            ("infinite", lambda rows: rows + INF, ValueError, "holds 12 rows that are not finite"),
        )
    ),
    *(
        (f"{name}: None", options, table(name, lambda rows: None), TypeError, f"{name} must be")
        for name, options in ARRAYS[1:]
    ),
    ("no syn1neg", NEGATIVE, without("syn1neg"), ValueError, "negative=5 needs syn1neg"),
    ("no syn1", TREE, without("syn1"), ValueError, "hs=1 needs syn1"),
    (
        *("negative set late", TREE, lambda model: setattr(model, "negative", 5), ValueError),
        "set negative in the constructor",
    ),
    (
        *("hs set late", NEGATIVE, lambda model: setattr(model, "hs", 1), ValueError),
        "set hs in the constructor",
    ),
    (
        *("nothing to train", NEGATIVE, lambda model: setattr(model, "negative", 0), ValueError),
        "You must set either 'hs' or 'negative'",
    ),
    (
        *("a word appended", NEGATIVE, lambda model: model.wv.index_to_key.append("new")),
        *(ValueError, r"wv.vectors has the shape \(12, 4\), but 13 words"),
    ),
    (
        *("a word removed", NEGATIVE, lambda model: model.wv.index_to_key.pop()),
        *(ValueError, "wv.key_to_index has index 11 for .*11 words"),
    ),
    ("index too large", NEGATIVE, index("trees", 12), ValueError, "index 12 for 'trees'.*0 to 11"),
    ("index negative", NEGATIVE, index("trees", -1), ValueError, "has index -1 for 'trees'"),
    ("new key outside", NEGATIVE, index("new", 99), ValueError, "has index 99 for 'new'"),
    ("index a float", NEGATIVE, index("trees", 1.5), TypeError, "indices that are not whole"),
    ("index a string", NEGATIVE, index("trees", "1"), TypeError, "indices that are not whole"),
    ("index None", NEGATIVE, index("trees", None), TypeError, "indices that are not whole"),
    (
        *("no vocabulary", NEGATIVE, lambda model: model.wv.key_to_index.clear(), RuntimeError),
        "you must first build vocabulary",
    ),
    (
        *("no rows", NEGATIVE, table("vectors", lambda rows: rows[:0]), RuntimeError),
        "you must initialize vectors",
    ),
    *(
        (f"no {name}", options, no_expando(name)) + (ValueError, says)
        for name, options, says in (
            ("count", NEGATIVE, "'count'. is missing"),
            ("code", TREE, "'code'. is missing"),
            ("point", TREE, "hs=1 needs a Huffman tree"),
        )
    ),
    *(
        (f"{name} short", options, expando(name, lambda of: of[:-1]), ValueError)
        + (f"'{name}'. has 11 entries for 12 words",)
        for name, options in (("count", {}), ("sample_int", {}), ("point", TREE), ("code", TREE))
    ),
    (
        *("count negative", NEGATIVE, expando("count", lambda of: -of), ValueError),
        "'count'. must hold numbers from 0 up",
    ),
    (
        *("count as text", NEGATIVE, expando("count", lambda of: of.astype(str)), ValueError),
        "'count'. must hold numbers",
    ),
    *(
        (f"cum_table {what}", NEGATIVE, table("cum_table", change), ValueError, says)
        for what, change, says in (
            ("short", lambda of: of[:-1], r"cum_table has the shape \(11,\)"),
            ("long", lambda of: np.append(of, of[-1]), r"cum_table has the shape \(13,\)"),
            ("None", lambda of: None, r"cum_table has the shape \(\)"),
            ("falling", lambda of: of[::-1], "cum_table must be whole numbers that never decrease"),
            ("zero", lambda of: of * 0, "cum_table must be whole numbers .*above 0"),
            ("as floats", lambda of: of / 2, "cum_table must be whole numbers"),
        )
    ),
    *(
        (f"lock {what}", NEGATIVE, table("vectors_lockf", lambda of, lock=lock: lock), error, says)
        for what, lock, error, says in (
            (
                "NaN",
                np.full(12, NAN),
                ValueError,
                "vectors_lockf holds factors that are not finite",
            ),
            ("one NaN", np.array([NAN]), ValueError, "vectors_lockf holds factors that are not"),
            ("infinite", np.full(12, INF), ValueError, "vectors_lockf holds factors"),
            ("short", np.ones(5), ValueError, "5 factors: set one for all words, or one for each"),
            ("empty", np.ones(0), ValueError, "vectors_lockf has 0 factors"),
            ("as text", np.array(["1"] * 12), TypeError, "vectors_lockf must hold numbers"),
            ("as objects", np.array([None]), TypeError, "vectors_lockf must hold numbers"),
        )
    ),
]


@pytest.mark.parametrize(
    ("options", "change", "error", "says"),
    [pytest.param(*row, id=name) for name, *row in BAD_STATES],
)
def test_inconsistent_model_raises_in_train(options, change, error, says):
    model = built(**options)
    change(model)
    call = functools.partial(model.train, common_texts, total_examples=9, epochs=1)
    refused(model, call, error, says)


def broken_stream():
    class Stream:
        def __iter__(self):
            yield from common_texts
            raise OSError("the stream broke")

    return Stream()


class NotIterable:
    def __iter__(self):
        return 5


#: Iterables for `train`: (factory, error, message).
BAD_ITERABLES = {
    "a number": (lambda: 5, TypeError, "must be an iterable of lists of strings, got 5"),
    "a function": (lambda: broken_stream, TypeError, "must be an iterable of lists of strings"),
    "a generator": (lambda: (s for s in common_texts), TypeError, "generator.*can't support 2"),
    "iter returns a number": (NotIterable, TypeError, "non-iterator"),
    "numbers as sentences": (lambda: [1, 2], TypeError, "int"),
    "None as a sentence": (lambda: [["trees"], None], TypeError, "NoneType"),
    "floats as sentences": (lambda: [1.5], TypeError, "float"),
    "a list as a word": (lambda: [["trees", ["graph"]]], TypeError, "list"),
    "a dictionary as a word": (lambda: [["trees", {}]], TypeError, "dict"),
    "an array as a word": (lambda: [["trees", np.ones(2)]], TypeError, "ndarray"),
    "a broken stream": (broken_stream, OSError, "the stream broke"),
    "unknown words": (lambda: [["no", "such"], ["words"]], RuntimeError, "none of the corpus's 3"),
    "words as bytes": (lambda: [[b"trees", b"graph"]], RuntimeError, "none of the corpus's 2"),
    "words in capitals": (lambda: [["TREES"]], RuntimeError, "none of the corpus's 1"),
    "numbers as words": (lambda: [[1, 2], [3]], RuntimeError, "add its words first"),
    "one string": (lambda: "trees", TypeError, "a string instead of sentences: pass sentences"),
    "strings as sentences": (lambda: ["TREES"], RuntimeError, "none of the corpus's 5 words"),
    "a dictionary": (lambda: {"tre": 1, "gra": 2}, TypeError, "a dict with strings as keys"),
    "missing LineSentence": (lambda: LineSentence("no such"), FileNotFoundError, "no such"),
    "an array": (lambda: np.ones((2, 2)), RuntimeError, "none of the corpus's 4 words"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_ITERABLES)
def test_bad_iterable_raises_in_train(name):
    make, error, says = BAD_ITERABLES[name]
    model, corpus = built(), make()
    refused(model, lambda: model.train(corpus, total_examples=9, epochs=2), error, says)


TEXT = b"human interface computer\nsurvey user\n" * 20
#: Files: (suffix, content, error, message). Those with compressed suffixes go to LineSentence.
BAD_FILES = {
    "gzip cut short": (".gz", gzip.compress(TEXT, mtime=0)[:-10], EOFError, "damaged"),
    "gzip with a changed byte": (
        *(".gz", gzip.compress(TEXT, mtime=0)[:-8] + b"\0" * 8, OSError),
        "damaged",
    ),
    "text named gzip": (".gz", TEXT, gzip.BadGzipFile, "not what its name says"),
    "zeros named gzip": (".gz", b"\0" * 100, gzip.BadGzipFile, "not what its name says"),
    "bzip2 cut short": (".bz2", bz2.compress(TEXT)[:-10], EOFError, "damaged"),
    "text named bzip2": (".bz2", TEXT, OSError, "not what its name says"),
    "text named xz": (".xz", TEXT, lzma.LZMAError, "not what its name says"),
    "gzip named text": (".txt", gzip.compress(TEXT, mtime=0), ValueError, "name it …"),
    "bzip2 named text": (".txt", bz2.compress(TEXT), ValueError, "name it …"),
    "xz named text": (".txt", lzma.compress(TEXT), ValueError, "name it …"),
    "zip named text": (".txt", b"PK\x03\x04rest", ValueError, "zip data, not text"),
    "UTF-16": (".txt", TEXT.decode().encode("utf-16"), UnicodeDecodeError, "is not UTF-8"),
    "UTF-16 without a BOM": (".txt", "é à".encode("utf-16-le"), ValueError, "is not UTF-8"),
    "UTF-32": (".txt", TEXT.decode().encode("utf-32"), UnicodeDecodeError, "is not UTF-8"),
    "Latin-1": (".txt", TEXT + "café à".encode("latin-1"), UnicodeDecodeError, "is not UTF-8"),
    "a surrogate": (".txt", TEXT + b"\xed\xa0\x80", UnicodeDecodeError, "is not UTF-8"),
    "a truncated character": (".txt", TEXT + b"\xe2\x82", UnicodeDecodeError, "is not UTF-8"),
    "an image": (".txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff", ValueError, "is an image, not text"),
    "unknown words": (".txt", b"no such words\n", RuntimeError, "none of the corpus's 3 words"),
    "zeros": (".txt", b"\0" * 100, ValueError, "holds binary data, not text"),
    "UTF-8 with a BOM": (".txt", b"\xef\xbb\xbfhuman", RuntimeError, "none of the corpus's 1"),
    "commas": (".txt", b"human,interface,computer", RuntimeError, "none of the corpus's 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_file_raises_in_train(name, tmp_path):
    ending, content, error, says = BAD_FILES[name]
    path = tmp_path / f"corpus{ending}"
    path.write_bytes(content)
    source = {"corpus_file": str(path), "total_words": 100}
    if ending != ".txt":
        source = {"corpus_iterable": LineSentence(str(path)), "total_examples": 9}
    model = built()
    refused(model, lambda: model.train(**source, epochs=1), error, says)


@pytest.mark.parametrize(
    ("source", "error", "says"),
    [
        (
            lambda path: {"corpus_file": str(path / "no")},
            TypeError,
            "must be a valid path to a file",
        ),
        (lambda path: {"corpus_file": str(path)}, TypeError, "must be a valid path to a file"),
        (lambda path: {"corpus_file": ""}, TypeError, "must be a valid path to a file"),
        (lambda path: {"corpus_file": 0}, TypeError, "must be a valid path to a file, got 0"),
        (lambda path: {"corpus_file": []}, TypeError, "must be a valid path to a file"),
        (lambda path: {"corpus_file": b"text"}, TypeError, "must be a valid path to a file"),
        (lambda path: {"corpus_file": "a\0b"}, TypeError, "must be a valid path to a file"),
        (lambda path: {"corpus_file": str(path / "a.gz")}, gzip.BadGzipFile, "what its name says"),
        (lambda path: {"corpus_file": str(path / "a.bz2")}, OSError, "not what its name says"),
        (lambda path: {"corpus_file": str(path / "b.gz")}, TypeError, "must be a valid path to"),
        (lambda path: {"corpus_iterable": LineSentence(str(path))}, IsADirectoryError, "PathLine"),
        (lambda path: {}, TypeError, "Either one of corpus_file or corpus_iterable"),
    ],
)
def test_bad_path_raises_in_train_and_build_vocab(source, error, says, tmp_path):
    for name in ("a.gz", "a.bz2"):
        (tmp_path / name).write_bytes(TEXT)
    model, given = built(), source(tmp_path)
    train = functools.partial(model.train, **given, total_words=9, total_examples=9, epochs=1)
    refused(model, train, error, says)
    refused(model, lambda: model.build_vocab(**given), error, says)


def test_corpus_file_without_total_words_raises(tmp_path):
    path = tmp_path / "corpus"
    path.write_bytes(TEXT)
    model = built()
    train = functools.partial(model.train, corpus_file=str(path), total_examples=40, epochs=1)
    refused(model, train, ValueError, "total_words must be provided")


def folder_of_mixed_files(folder: Path):
    (folder / "a.txt").write_bytes(TEXT)
    (folder / "b.txt").write_bytes(b"human \xff\n")
    return PathLineSentences(str(folder))


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda m, f: m.partial_fit(5), TypeError, "must be an iterable"),
        (lambda m, f: m.partial_fit(), TypeError, "Either one of"),
        (lambda m, f: m.partial_fit(common_texts, "x"), TypeError, "Both"),
        (
            lambda m, f: m.partial_fit(common_texts, epochs=0),
            ValueError,
            "epochs must be at least 1",
        ),
        (lambda m, f: m.partial_fit(common_texts, epochs=1.5), TypeError, "epochs must be a whole"),
        (
            lambda m, f: m.partial_fit(common_texts, epochs=None),
            TypeError,
            "epochs must be a whole",
        ),
        (lambda m, f: m.partial_fit(common_texts, alpha=NAN), ValueError, "start_alpha must be"),
        (lambda m, f: m.partial_fit(common_texts, alpha="x"), TypeError, "start_alpha must be"),
        (lambda m, f: m.partial_fit(folder_of_mixed_files(f)), UnicodeDecodeError, "b.txt"),
        (lambda m, f: m.held_out_loss(), TypeError, "Either one of"),
        (lambda m, f: m.held_out_loss(5), TypeError, "must be an iterable"),
        (lambda m, f: m.held_out_loss(corpus_file="no such"), TypeError, "valid path"),
        (lambda m, f: m.held_out_loss(folder_of_mixed_files(f)), UnicodeDecodeError, "b.txt"),
        (lambda m, f: m.train(folder_of_mixed_files(f), total_examples=9, epochs=1),)
        + (UnicodeDecodeError, "b.txt"),
        (lambda m, f: m.build_vocab(5), TypeError, "must be an iterable"),
        (lambda m, f: m.build_vocab([1, 2]), TypeError, "int"),
        (lambda m, f: m.build_vocab([["a", []]], update=True), TypeError, "list"),
        (lambda m, f: m.build_vocab(folder_of_mixed_files(f)), UnicodeDecodeError, "b.txt"),
    ],
)
def test_bad_argument_of_other_methods_raises(call, error, says, tmp_path):
    model = built()
    refused(model, lambda: call(model, tmp_path), error, says)


@pytest.mark.parametrize(
    ("regime", "says"),
    [
        ("submodels:models=100000", "models=100,000 sub-models are more than .* 3,600 sentences"),
        ("submodels:models=3601,sampling=equal", "models=3,601 sub-models"),
        ("submodels:models=3601,sampling=random", "models=3,601 sub-models"),
        ("submodels:models=3,rate=.0001", "rate=0.0001 of the corpus's 3,600 sentences"),
    ],
)
def test_more_sub_models_than_sentences_raise(regime, says):
    model = built()
    model.regime = regime
    corpus = common_texts * 400
    train = functools.partial(model.train, corpus, total_examples=3600, epochs=1)
    refused(model, train, ValueError, says)


def test_tables_have_over_240_cases_without_duplicates():
    tables = (BAD_OPTIONS, OF_THE_CONSTRUCTOR, BAD_ARGUMENTS, CHANGED_LATER[::2], BAD_STATES)
    assert sum(map(len, (*tables, BAD_ITERABLES, BAD_FILES))) > 240
    of_option = defaultdict(list)
    for name, bad, *_ in BAD_OPTIONS + OF_THE_CONSTRUCTOR:
        of_option[name].append(repr(bad))
    assert all(len(of) == len(set(of)) for of in of_option.values())
