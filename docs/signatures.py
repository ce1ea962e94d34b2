"""Griffe extension: gensim's parameters in the reference instead of ``*args, **kwargs``."""

import inspect
from typing import Any

import griffe
from gensim.models import Word2Vec

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec

#: Callables whose parameters replace the variadic parameters of each method.
METHODS = {
    "gensim_tfw2v.doc2vec.TFDoc2Vec.__init__": TFDoc2Vec,
    "gensim_tfw2v.fasttext.TFFastText.__init__": TFFastText,
    "gensim_tfw2v.model.TFWord2Vec.__init__": TFWord2Vec,
    "gensim_tfw2v.model.TFWord2Vec.train": Word2Vec.train,
}

VARIADIC = (griffe.ParameterKind.var_positional, griffe.ParameterKind.var_keyword)


class GensimSignatures(griffe.Extension):
    """Replaces ``*args, **kwargs`` by gensim's parameters."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Set the parameters that a function in `METHODS` accepts."""
        if func.path not in METHODS:
            return
        receiver, *own = (each for each in func.parameters if each.kind not in VARIADIC)
        of_gensim = [
            griffe.Parameter(
                name,
                kind=griffe.ParameterKind.positional_or_keyword,
                default=_shown(each.default),
            )
            for name, each in inspect.signature(METHODS[func.path]).parameters.items()
            if name not in ("self", "kwargs")
        ]
        names = {each.name for each in of_gensim}
        keywords = [each for each in own if each.name not in names]
        func.parameters = griffe.Parameters(receiver, *of_gensim, *keywords)


def _shown(default: Any) -> str | None:
    if default is inspect.Parameter.empty:
        return None
    return getattr(default, "__name__", None) or repr(default)
