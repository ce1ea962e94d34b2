"""Wrong calls of the API: each error repeats the value, and says what is allowed."""

import re

import numpy as np
import pytest
from gensim.models.doc2vec import TaggedDocument
from gensim.test.utils import common_texts

from gensim_tfw2v import (
    Asynchronous,
    Downpour,
    EarlyStopping,
    NeighbourIndex,
    Sandblaster,
    SubModels,
    Synchronous,
    TensorBoardLog,
    TFDoc2Vec,
    TFFastText,
    TFWord2Vec,
    align_models,
    merge_models,
    patch_gensim,
    self_similarities,
    train_slice,
)
from gensim_tfw2v.cluster import Cluster
from gensim_tfw2v.planning import Machines, Workload

SMALL = {"min_count": 1, "vector_size": 4, "workers": 1}
TEXTS = common_texts * 3


@pytest.fixture(scope="module")
def m():
    """Models that the calls use; ``spanish`` has no word in common with the others."""
    documents = [TaggedDocument(text, [number]) for number, text in enumerate(TEXTS)]

    class Models:
        one = TFWord2Vec(TEXTS, **SMALL)
        two = TFWord2Vec(TEXTS, seed=5, **SMALL)
        wide = TFWord2Vec(TEXTS, **SMALL | {"vector_size": 8})
        spanish = TFWord2Vec([["uno", "dos"]] * 9, **SMALL)
        docs = TFDoc2Vec(documents, **SMALL)
        subwords = TFFastText(TEXTS, bucket=50, **SMALL)
        index = NeighbourIndex(one.wv)

    return Models


def stopped_by(score):
    return TFWord2Vec(TEXTS, epochs=3, callbacks=[EarlyStopping(score)], **SMALL)


NAN = float("nan")
BOTH = TypeError, ValueError

#: Name, call, error and regular expression of the message.
CALLS = [
    # constructors
    ("mistyped option", lambda m: TFWord2Vec(vectorsize=4), TypeError,
     r"TFWord2Vec\(\) .*'vectorsize'; did you mean vector_size\?"),
    ("option of gensim 3", lambda m: TFWord2Vec(iter=4), TypeError, "gensim 4 calls it epochs"),
    ("unknown option", lambda m: TFWord2Vec(colour=4), TypeError, "'colour'$"),
    ("epoch", lambda m: TFFastText(epoch=4), TypeError, r"TFFastText\(\).*did you mean epochs\?"),
    ("option of FastText", lambda m: TFWord2Vec(min_n=4), TypeError, "'min_n'"),
    ("bucket", lambda m: TFFastText(bucket=-5), ValueError, "bucket must be at least 0, got -5"),
    ("bucket as text", lambda m: TFFastText(bucket="x"), TypeError, "whole number, got 'x'"),
    ("min_n as text", lambda m: TFFastText(min_n="3"), TypeError, "min_n must be .*, got '3'"),
    ("lists as documents", lambda m: TFDoc2Vec(TEXTS, **SMALL), TypeError,
     r"document 0 must have words and tags, got .*: pass TaggedDocument"),
    ("text as documents", lambda m: TFDoc2Vec("x", **SMALL), TypeError, "(got|is) 'x'"),
    ("dm", lambda m: TFDoc2Vec(dm=2), ValueError, "dm must be at most 1, got 2"),
    ("sentences", lambda m: TFDoc2Vec(sentences=TEXTS), TypeError, "'sentences'"),
    ("cluster as dict", lambda m: TFWord2Vec(cluster={"ps": ["a:1"]}), ValueError,
     r"cluster is \{'ps': \['a:1'\]\}: give 'local:ps=P,worker=N'"),
    ("cluster as path", lambda m: TFWord2Vec(cluster="h.json"), ValueError, "is 'h.json': give"),
    ("regime as class", lambda m: TFWord2Vec(regime=Downpour), ValueError, "regime is <class"),
    ("regime twice", lambda m: TFWord2Vec(regime="downpour:n_push=1,n_push=2"), ValueError,
     "regime is 'downpour:n_push=1,n_push=2': n_push is set twice: leave out one"),
    # vocabulary and training
    ("text as vocabulary", lambda m: TFWord2Vec(**SMALL).build_vocab(5), TypeError, "got 5"),
    ("no corpus", lambda m: TFWord2Vec(**SMALL).build_vocab(), TypeError, "Either one of"),
    ("no vocabulary", lambda m: TFWord2Vec(**SMALL).train(TEXTS, total_examples=3, epochs=1),
     RuntimeError, "you must first build vocabulary"),
    ("no totals", lambda m: m.one.train(TEXTS, epochs=1), ValueError, "specify either total_ex"),
    ("no epochs", lambda m: m.one.train(TEXTS, total_examples=9), ValueError, "explicit epochs"),
    ("further epochs", lambda m: m.one.partial_fit(TEXTS, epochs="x"), TypeError, "got 'x'"),
    ("text to infer", lambda m: m.docs.infer_vector("the cat"), TypeError,
     "a document must be a list of words, got 'the cat': split it"),
    ("nothing to infer", lambda m: m.docs.infer_vector(None), TypeError, "words, got None: split"),
    ("alpha to infer", lambda m: m.docs.infer_vector(["a"], alpha="x"), TypeError, "got 'x'"),
    ("unknown text", lambda m: m.one.held_out_loss([["xyzzy"]]), ValueError, "nothing was predict"),
    ("vectors as number", lambda m: TFWord2Vec.from_vectors(5), TypeError,
     "vectors must be gensim's KeyedVectors, got 5: pass model.wv, or load a file"),
    ("vectors as path", lambda m: TFWord2Vec.from_vectors("v.txt"), TypeError, "got 'v.txt'"),
    ("size of vectors", lambda m: TFWord2Vec.from_vectors(m.one.wv, vector_size=4), TypeError,
     "vector_size is that of the vectors: leave it out"),
    # queries and indices
    ("unknown word", lambda m: m.one.wv["xyzzy"], KeyError, "'xyzzy' not present"),
    ("other index", lambda m: m.two.wv.most_similar("graph", indexer=m.index), ValueError,
     "is an index of other vectors.*build one of these"),
    ("index of number", lambda m: NeighbourIndex(5), TypeError, "must be .*model.*, got int"),
    ("index of path", lambda m: NeighbourIndex("m.kv"), TypeError, "KeyedVectors .*, got str"),
    ("dtype", lambda m: NeighbourIndex(m.one, dtype="int4"), ValueError, "'int4': use 'float32'"),
    ("dtype None", lambda m: m.one.index(dtype=None), ValueError, "dtype is None: use 'float32'"),
    ("connectivity", lambda m: NeighbourIndex(m.one, connectivity=1), ValueError, "least 2, got 1"),
    ("workers", lambda m: NeighbourIndex(m.one, workers=0), ValueError, "at least 1, got 0"),
    ("query as word", lambda m: m.index.search("graph"), TypeError,
     "queries must be vectors, got 'graph': search for the vectors of words"),
    ("size of query", lambda m: m.index.search(np.zeros(9, np.float32)), ValueError,
     r"shape \(9,\), the index needs \(4,\)"),
    ("subset as word", lambda m: m.index.subset("graph"), TypeError, "list or .*, got 'graph'"),
    ("unknown subset", lambda m: m.index.subset(["xyzzy"]), KeyError, "'xyzzy' is not in the"),
    ("missing index", lambda m: NeighbourIndex.load("/no/such"), FileNotFoundError, "/no/such"),
    ("other file", lambda m: NeighbourIndex.load(__file__), FileNotFoundError,
     "missing, so .* is no index; build one, with: tfw2v index"),
    # logs and callbacks
    ("no log folder", lambda m: TensorBoardLog(None), ValueError, "path of a folder, got None"),
    ("number as log", lambda m: TensorBoardLog(5), ValueError, "path of a folder, got 5"),
    ("pairs as text", lambda m: TensorBoardLog("x", word_pairs="ws353"), ValueError, "a list, got"),
    ("missing pairs", lambda m: TensorBoardLog("x", ["ws535"]), FileNotFoundError, "ws535"),
    ("projector", lambda m: TensorBoardLog("x", projector_each_epoch="yes"), ValueError,
     "must be True or False, got 'yes'"),
    ("monitor", lambda m: EarlyStopping("ws535"), FileNotFoundError, "'ws535': use ws353, .*loss"),
    ("monitor as number", lambda m: EarlyStopping(5), TypeError, "monitor is 5: pass the name of"),
    ("patience", lambda m: EarlyStopping("loss", patience=-1), ValueError, "at least 0, got -1"),
    ("patience 1.5", lambda m: EarlyStopping("loss", patience=1.5), TypeError, "got 1.5"),
    ("min_delta", lambda m: EarlyStopping("loss", min_delta=NAN), ValueError, "finite .*got nan"),
    ("mode", lambda m: EarlyStopping("loss", mode="up"), ValueError, "'up': use 'auto', 'max' or"),
    ("score None", lambda m: stopped_by(lambda model: None), TypeError,
     "monitor of EarlyStopping, <lambda>, returned None after epoch 0: return a number"),
    ("score as text", lambda m: stopped_by(lambda model: "good"), TypeError, "returned 'good'"),
    # merging and time slices
    ("nothing to merge", lambda m: merge_models([]), ValueError, "no sub-models to merge: pass"),
    ("model to merge", lambda m: merge_models(m.one), TypeError,
     "models is a TFWord2Vec: pass a list of models"),
    ("paths to merge", lambda m: merge_models(["a.model"]), TypeError, "model 0 is a str: pass"),
    ("method", lambda m: merge_models([m.one, m.two], "mean"), ValueError,
     "method is 'mean': use alir, pca or concat"),
    ("merged size", lambda m: merge_models([m.one, m.two], vector_size=99), ValueError,
     "vector_size is 99: give a whole number from 1 to 4"),
    ("nothing in common", lambda m: merge_models([m.one, m.spanish]), ValueError, "no word in"),
    ("model to align", lambda m: align_models(m.one), TypeError, "is a TFWord2Vec: pass a list"),
    ("nothing to align", lambda m: align_models([]), ValueError, "no models: pass one or more"),
    ("sizes to align", lambda m: align_models([m.one, m.wide]), ValueError, r"\[4, 8\] dimensions"),
    ("paths to align", lambda m: align_models(["a", "b"]), TypeError, "model 0 is a str: pass"),
    ("one word", lambda m: self_similarities([m.one, m.two], "the"), TypeError,
     "words is 'the': pass a list of words"),
    ("number of words", lambda m: self_similarities([m.one], 5), TypeError, "words is 5: pass a l"),
    ("one model", lambda m: self_similarities(m.one.wv), TypeError, "is a KeyedVectors: pass a"),
    ("compass", lambda m: train_slice(m.one.wv, TEXTS), TypeError, "is a KeyedVectors: pass"),
    ("compass as path", lambda m: train_slice("c.model", TEXTS), TypeError, "is a str: pass a"),
    ("no slice", lambda m: train_slice(m.one), TypeError, "Either one of corpus_file or"),
    ("slice's size", lambda m: train_slice(m.one, TEXTS, vector_size=9), ValueError, "leave it"),
    ("unknown slice", lambda m: train_slice(m.one, [["xyzzy"]]), ValueError, "pass a lower min_c"),
    ("slice's epoch", lambda m: train_slice(m.one, TEXTS, epoch=9), TypeError, "mean epochs"),
    ("patch by position", lambda m: patch_gensim(5), TypeError, "0 positional arguments"),
    ("patch's option", lambda m: patch_gensim(clusters=5), TypeError, "'clusters'"),
    # clusters and regimes
    ("ps as text", lambda m: Cluster("a:1", ("b:1",)), ValueError,
     r"ps is 'a:1': pass a tuple of addresses, such as \('10.0.0.2:2222',\)"),
    ("ps as number", lambda m: Cluster(("a:1",), 5), ValueError, "worker is 5: pass a tuple"),
    ("number as address", lambda m: Cluster((5,), ("b:1",)), ValueError, "address 5: write a"),
    ("chief as list", lambda m: Cluster(("a:1",), ("b:1",), ["c:1"]), ValueError, r"\['c:1'\]: "),
    ("no ps", lambda m: Cluster((), ("b:1",)), ValueError, "no ps: give at least one"),
    ("no port", lambda m: Cluster(("a",), ("b:1",)), ValueError, "'a': write host:port"),
    ("port", lambda m: Cluster(("a:99999",), ("b:1",)), ValueError, "'a:99999': .*1 to 65535"),
    ("twice", lambda m: Cluster(("a:1",), ("a:1",)), ValueError, "same address: give each task"),
    ("task", lambda m: Cluster(("a:1",), ("b:1",)).task("worker", 4), ValueError,
     r"has no worker 4; it has ps 0 \(a:1\)"),
    ("n_fetch", lambda m: Downpour(n_fetch=0), ValueError, "whole number from 1 up, got 0"),
    ("combining", lambda m: Synchronous(combining="mean"), ValueError, "'mean': use 'adasum' or"),
    ("models", lambda m: SubModels(models=1.5), ValueError, "models must be .*, got 1.5"),
    ("history", lambda m: Sandblaster(history=0), ValueError, "history must be .*, got 0"),
    ("no options", lambda m: Asynchronous(5), TypeError, "positional argument"),
    # plans
    ("no words", lambda m: Workload.for_text(0, 9), ValueError, "vocabulary must be .* 1, got 0"),
    ("words as text", lambda m: Workload.for_text("1e6", 9), TypeError, "vocabulary must .*'1e6'"),
    ("tokens", lambda m: Workload.for_text(9, -5), ValueError, "tokens must be .*above 0, got -5"),
    ("no dimensions", lambda m: Workload.for_text(9, 99, 0), ValueError, "vector_size must .* 0"),
    (
        "sample",
        lambda m: Workload.for_text(9, 99, sample=NAN),
        ValueError,
        "sample must .* got nan",
    ),
    ("no workers", lambda m: Machines(0, 1), ValueError, "workers must be at least 1, got 0"),
    ("workers as text", lambda m: Machines("4", 1), TypeError, "workers must be .* got '4'"),
    ("network", lambda m: Machines(1, 1, net=-1), ValueError, "net must be .*above 0, got -1"),
    ("memory", lambda m: Machines(1, 1, memory="64GB"), BOTH, "memory must be .*, got '64GB'"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "error", "says"), [pytest.param(*row, id=name) for name, *row in CALLS]
)
def test_wrong_call_raises_with_what_is_allowed(m, call, error, says):
    with pytest.raises(error) as raised:
        call(m)
    assert re.search(says, str(raised.value), re.DOTALL), raised.value


def test_over_ninety_calls_are_tried():
    assert len(CALLS) > 90
