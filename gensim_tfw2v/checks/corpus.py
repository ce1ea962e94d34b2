"""Corpora that cannot be trained on."""

from gensim_tfw2v.corpus.units import EncodedCorpus
from gensim_tfw2v.regimes.options import RegimeOptions


def check_corpus(corpus: EncodedCorpus, words: int, regime: RegimeOptions) -> None:
    """Find a corpus that is of another vocabulary, or too small for the regime.

    Parameters
    ----------
    corpus : EncodedCorpus
    words : int
        V, of the vocabulary.
    regime : RegimeOptions

    Raises
    ------
    RuntimeError
        If it has words, and none is in the vocabulary; as gensim where no vocabulary was built.
    ValueError
        If sub-models would have no sentence.
    """
    if corpus.total_raw_words and not corpus.total_tokens:
        raise RuntimeError(
            f"none of the corpus's {corpus.total_raw_words:,} words is among the {words:,} of the "
            "vocabulary: prepare the text as that of the vocabulary was, or add its words first "
            "with build_vocab(corpus, update=True)"
        )
    if corpus.total_tokens:
        regime.check_sentences(corpus.total_sentences)
