"""Vocabularies of millions of words, without a Python object per word."""

#: Minimum number of words of a vocabulary whose keys and counts are compact. Below it, they are
#: plain lists and dicts, which are faster.
MIN_WORDS = 3_000_000
