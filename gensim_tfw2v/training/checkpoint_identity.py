"""Identity of a training run: only one with the same identity can resume its checkpoints."""

from typing import Any

from gensim.models import KeyedVectors

from gensim_tfw2v.corpus.encoded_corpus import EncodedCorpus
from gensim_tfw2v.keys.compact import checksum
from gensim_tfw2v.options.option import Use
from gensim_tfw2v.options.table import option_names
from gensim_tfw2v.training.huffman import Paths


def identity_of(model: Any, corpus: EncodedCorpus, seed: int) -> dict[str, Any]:
    """Return the identity of a training run, as values that JSON can encode."""
    identity: dict[str, Any] = {
        "vocabulary": _describe_keys(model.wv, "words"),
        # without a seed, each process draws a random one, so checkpoints with any seed are resumed
        "seed": f"any, training {model.train_count + 1}" if model.seed is None else seed,
        **{name: getattr(model, name) for name in option_names(Use.IDENTITY)},
    }
    if model.hs:  # rows of syn1 are nodes of this tree, and fit no other
        identity["tree"] = f"{Paths.of(model.wv).checksum():08x}"
    if model.has_subwords:
        identity |= {
            name: getattr(model.wv, name) for name in option_names(Use.IDENTITY, "FastText")
        }
    if model.has_documents:
        identity |= {name: getattr(model, name) for name in option_names(Use.IDENTITY, "Doc2Vec")}
        identity["tags"] = _describe_keys(model.dv, "tags")
    # last, because the ids of the corpus depend on the vocabulary: its changes are reported first
    counts = f"{corpus.total_raw_words} words, {corpus.total_sentences} sentences"
    identity["corpus"] = f"{counts}, {corpus.checksum:08x}"
    return identity


def _describe_keys(vectors: KeyedVectors, kind: str) -> str:
    """Describe the words or tags of vectors by their number and a checksum."""
    return f"{len(vectors)} {kind}, {checksum(vectors.index_to_key):08x}"
