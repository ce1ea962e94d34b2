"""Keyword arguments of the model classes, for type checkers and editors."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypedDict

from gensim_tfw2v.cluster.spec import Cluster
from gensim_tfw2v.monitor.tensorboard_log import TensorBoardLog
from gensim_tfw2v.options.regimes import RegimeOptions


class CommonOptions(TypedDict, total=False):
    """Keyword arguments of all three classes: gensim's, then this package's own."""

    corpus_file: str | os.PathLike[str] | None
    vector_size: int
    alpha: float
    window: int
    min_count: int
    max_vocab_size: int | None
    sample: float
    seed: int
    workers: int
    min_alpha: float
    hs: int
    negative: int
    ns_exponent: float
    cbow_mean: int
    hashfxn: Callable[[str], int]
    epochs: int
    trim_rule: Callable[[str, int, int], int] | None
    sorted_vocab: int
    batch_words: int
    callbacks: Iterable[Any]
    max_final_vocab: int | None
    shrink_windows: bool
    corrected_cbow: bool
    deterministic: bool
    cluster: str | Cluster | None
    regime: RegimeOptions | str | None
    layout: str
    wire: str
    checkpoint_dir: str | os.PathLike[str] | None
    checkpoint_minutes: float
    log_dir: str | os.PathLike[str] | TensorBoardLog | None
    progress: bool | None
    encoded_dir: str | os.PathLike[str] | None


class SentencesOptions(CommonOptions, total=False):
    """Keyword arguments of `TFWord2Vec` and `TFFastText`."""

    sentences: Iterable[Sequence[str]] | None
    sg: int
    null_word: int


class _WithoutFastTextOptions(TypedDict, total=False):
    """Keyword arguments of `TFWord2Vec` and `TFDoc2Vec`; `TFFastText` declares `compute_loss`."""

    compute_loss: bool
    comment: str | None
    tables_dir: str | os.PathLike[str] | None


class Word2VecOptions(SentencesOptions, _WithoutFastTextOptions, total=False):
    """Keyword arguments of `TFWord2Vec`."""


class FastTextOptions(SentencesOptions, total=False):
    """Keyword arguments of `TFFastText`."""

    word_ngrams: int
    min_n: int
    max_n: int
    bucket: int


class Doc2VecOptions(CommonOptions, _WithoutFastTextOptions, total=False):
    """Keyword arguments of `TFDoc2Vec`."""

    documents: Iterable[Any] | None
    dm: int
    dm_mean: int | None
    dm_concat: int
    dm_tag_count: int
    dbow_words: int
    dv: Any
    dv_mapfile: str | None
