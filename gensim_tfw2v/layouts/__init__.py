"""Where the rows of a table live on a cluster."""

from gensim_tfw2v.layouts.rows import RowLayout

__all__ = ["RowLayout"]
