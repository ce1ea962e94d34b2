"""List of a model's attributes, with their fates in copies, files and new models.

Attributes that are not listed are the user's own. Copies and files of gensim's format keep them;
pretrained folders refuse them, except values of words (``wv.set_vecattr``) that are numbers; new
models of `merge_models`, `train_slice` and `from_vectors` lack them. `from_vectors` takes only
words, counts and vectors.
"""

from dataclasses import dataclass

from gensim_tfw2v.options.option import Use
from gensim_tfw2v.options.table import option_names
from gensim_tfw2v.weight_tables import INPUT_LAYER, OUTPUT_LAYER

#: Fates of an attribute when a model is stored, converted or merged.
KEPT = "kept"  # the value stays the same
MADE = "made"  # the value is computed from those that are kept
NEW = "new"  # the value is that of a new model
REFUSED = "refused"  # an error names the attribute, unless its value is that of a new model

#: gensim's attributes that record the progress of counting and training; each is a number.
COUNTERS = (
    *("corpus_count", "corpus_total_words", "effective_min_count", "train_count"),
    *("total_train_time", "min_alpha_yet_reached", "running_training_loss"),
)

#: Results of an `EarlyStopping`, which it sets at the end of `train`.
STOPPING_RESULTS = ("history", "best_epoch", "best_score")

#: Results of the last `train` that files keep.
RESULTS = ("mean_losses", *STOPPING_RESULTS, "kernel")


@dataclass(frozen=True)
class Part:
    """Attributes with the same fates.

    Attributes
    ----------
    names : tuple of str
        Attributes of a model, of its vectors (``wv.``, ``dv.``), or values of their keys
        (``wv.expandos.``).
    copy : str
        Fate in `copy.copy`, `copy.deepcopy` and pickle.
    file : str
        Fate in `save`.
    folder : str
        Fate in `save_pretrained`.
    gensim : str
        Fate in `to_gensim`.
    merged : str
        Fate in `merge_models`; kept values are those of the first model.
    slice : str
        Fate in `train_slice`; kept values are those of the compass.
    """

    names: tuple[str, ...]
    copy: str = KEPT
    file: str = KEPT
    folder: str = KEPT
    gensim: str = KEPT
    merged: str = NEW
    slice: str = NEW


def _own_options_except(*names: str) -> tuple[str, ...]:
    return tuple(name for name in option_names(Use.OWN) if name not in names)


PARTS = (
    # trained arrays
    Part(tuple(array.name for array in INPUT_LAYER), merged=MADE),
    Part(tuple(array.name for array in OUTPUT_LAYER), merged=MADE, slice=KEPT),
    # keys and their values
    Part(("wv.index_to_key", "wv.key_to_index"), merged=MADE, slice=MADE),
    Part(("dv.index_to_key", "dv.key_to_index")),
    Part(("wv.expandos.count", "wv.expandos.sample_int"), merged=MADE, slice=MADE),
    Part(("dv.expandos.word_count", "dv.expandos.doc_count")),
    # the Huffman tree, whose nodes are rows of syn1; merging keeps a tree that all models share
    Part(("wv.expandos.point", "wv.expandos.code"), merged=KEPT, slice=KEPT),
    Part(("cum_table",), file=MADE, merged=MADE, slice=MADE),  # gensim's files lack it
    Part(tuple(f"{array.name}_lockf" for array in INPUT_LAYER)),
    # gensim's options
    Part(("vector_size",), merged=MADE, slice=KEPT),
    Part(
        (
            *("sg", "hs", "negative", "ns_exponent", "window", "shrink_windows", "cbow_mean"),
            *("sample", "alpha", "min_alpha", "epochs", "min_count", "workers", "seed"),
            "null_word",
        ),
        merged=KEPT,
        slice=KEPT,
    ),
    Part(("batch_words", "compute_loss", "max_vocab_size", "sorted_vocab"), slice=KEPT),
    Part(("hashfxn",), folder=REFUSED, slice=KEPT),  # a folder contains no code
    Part(("max_final_vocab", "comment")),
    Part(("wv.min_n", "wv.max_n", "wv.bucket", "word_ngrams")),
    Part(("dbow_words", "dm_concat", "dm_tag_count")),
    # this package's options
    Part(("deterministic",), gensim=NEW, slice=KEPT),
    Part(_own_options_except("deterministic"), gensim=NEW, merged=KEPT, slice=KEPT),
    Part(option_names(Use.EXPERIMENT), gensim=NEW),
    Part(option_names(Use.RUNNING), file=NEW, folder=NEW, gensim=NEW),
    # state
    Part(COUNTERS),
    Part(RESULTS, gensim=NEW),
    Part(("traffic", "merge_report"), file=NEW, folder=NEW, gensim=NEW),
    Part(("random", "lifecycle_events", "wv.lifecycle_events", "dv.lifecycle_events"), folder=NEW),
    Part(("raw_vocab",), folder=REFUSED),  # empty, unless the user asked to keep it
    # derived, unused, or gensim's bookkeeping
    Part(("layer1_size", "wv.vector_size", "dv.vector_size"), folder=MADE, merged=MADE, slice=MADE),
    Part(("wv.buckets_word", "wv.compatible_hash", "load", "load_fasttext_format"), folder=MADE),
    Part(("wv.norms", "dv.norms", "wv.next_index", "dv.next_index"), folder=NEW),
    Part(("wv.mapfile_path", "dv.mapfile_path", "callbacks"), folder=NEW),
    Part(
        tuple(
            holder + name
            for holder in ("", "wv.", "dv.")
            for name in ("__numpys", "__scipys", "__ignoreds", "__recursive_saveloads")
        ),
        folder=NEW,
    ),
    # attributes that gensim's reader of fastText's files sets
    Part(("nwords", "vocab_size", "num_original_vectors"), folder=NEW),
    # attributes of models that gensim 3 has saved
    Part(("model_trimmed_post_training", "syn0_lockf", "wv.syn0norm"), folder=NEW),
    # caches, and the state of running calls
    Part(("_state", "stop_training"), copy=NEW, file=NEW, folder=NEW, gensim=NEW),
)


def names(method: str, fate: str) -> tuple[str, ...]:
    """Return the names of the attributes that have a fate in a method, a field of `Part`.

    For example, ``names("folder", REFUSED)`` are attributes that `save_pretrained` refuses.
    """
    return tuple(name for part in PARTS if getattr(part, method) == fate for name in part.names)
