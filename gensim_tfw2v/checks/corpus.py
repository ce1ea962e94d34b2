"""Corpora that cannot be trained on."""

from gensim_tfw2v.corpus.units import EncodedCorpus
from gensim_tfw2v.regimes.options import RegimeOptions, SubModels


def check_corpus(corpus: EncodedCorpus, words: int, regime: RegimeOptions | None) -> None:
    """Find a corpus that is of another vocabulary, or too small for the regime.

    Parameters
    ----------
    corpus : EncodedCorpus
    words : int
        V, of the vocabulary.
    regime : RegimeOptions, optional

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
    if not isinstance(regime, SubModels) or not corpus.total_tokens:
        return
    sentences = corpus.total_sentences
    if regime.models > sentences:
        raise ValueError(
            f"models={regime.models:,} sub-models are more than the corpus's {sentences:,} "
            "sentences, of which each needs one at least: give fewer models"
        )
    if regime.rate is not None and regime.rate * sentences < 1:
        raise ValueError(
            f"rate={regime.rate:g} of the corpus's {sentences:,} sentences is not one sentence for "
            "a sub-model: give a larger rate"
        )
