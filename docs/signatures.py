"""Griffe extension: gensim's parameters in the reference instead of ``*args, **kwargs``."""

import inspect
from typing import Any

import griffe
from gensim.models import Word2Vec

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec

#: For each method of ours with variadic parameters: the callable whose parameters replace these in
#: the reference.
METHODS = {
    "gensim_tfw2v.doc2vec.TFDoc2Vec.__init__": TFDoc2Vec,
    "gensim_tfw2v.fasttext.TFFastText.__init__": TFFastText,
    "gensim_tfw2v.model.TFWord2Vec.__init__": TFWord2Vec,
    "gensim_tfw2v.model.TFWord2Vec.train": Word2Vec.train,
}

#: Kinds of parameters that are replaced: ``*args`` and ``**kwargs``.
VARIADIC = (griffe.ParameterKind.var_positional, griffe.ParameterKind.var_keyword)


class GensimSignatures(griffe.Extension):
    """Extension that replaces ``*args, **kwargs`` by gensim's parameters."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Set the parameters that the reference shows for a function in `METHODS`."""
        if func.path not in METHODS:
            return
        receiver, *keywords = (param for param in func.parameters if param.kind not in VARIADIC)
        gensim_params = [
            griffe.Parameter(
                name,
                kind=griffe.ParameterKind.positional_or_keyword,
                default=_format_default(param.default),
            )
            for name, param in inspect.signature(METHODS[func.path]).parameters.items()
            if name not in ("self", "kwargs")
        ]
        gensim_names = {param.name for param in gensim_params}
        new_params = [param for param in keywords if param.name not in gensim_names]
        func.parameters = griffe.Parameters(receiver, *gensim_params, *new_params)


def _format_default(default: Any) -> str | None:
    """Return a default value as the reference shows it; None if a parameter has none."""
    if default is inspect.Parameter.empty:
        return None
    return getattr(default, "__name__", None) or repr(default)
