"""Griffe extension: gensim's parameters in the reference instead of ``*args, **kwargs``.

Griffe reads sources without running them. This extension adds what exists only at run time: the
parameters that gensim's signatures contain, and the parts of docstrings that classes inherit.
"""

import inspect
from typing import Any

import griffe

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec

#: Classes whose docstrings are completed, and whose constructors have variadic parameters, which
#: the parameters of the class replace in the reference.
CLASSES = {
    "gensim_tfw2v.doc2vec.TFDoc2Vec": TFDoc2Vec,
    "gensim_tfw2v.fasttext.TFFastText": TFFastText,
    "gensim_tfw2v.model.TFWord2Vec": TFWord2Vec,
}

#: Kinds of parameters that are replaced: ``*args`` and ``**kwargs``.
VARIADIC = (griffe.ParameterKind.var_positional, griffe.ParameterKind.var_keyword)


class GensimSignatures(griffe.Extension):
    """Extension that shows the signatures and the docstrings that the classes have at run time."""

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Set the docstring that the reference shows for a class in `CLASSES`."""
        if cls.path in CLASSES and cls.docstring is not None:
            cls.docstring.value = inspect.getdoc(CLASSES[cls.path]) or ""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Set the parameters that the reference shows for the constructor of a class."""
        path, _dot, name = func.path.rpartition(".")
        if path not in CLASSES or name != "__init__":
            return
        receiver, *keywords = (param for param in func.parameters if param.kind not in VARIADIC)
        class_params = [
            griffe.Parameter(
                name,
                kind=griffe.ParameterKind.positional_or_keyword,
                default=_format_default(param.default),
            )
            for name, param in inspect.signature(CLASSES[path]).parameters.items()
        ]
        class_names = {param.name for param in class_params}
        new_params = [param for param in keywords if param.name not in class_names]
        func.parameters = griffe.Parameters(receiver, *class_params, *new_params)


def _format_default(default: Any) -> str | None:
    """Return a default value as the reference shows it; None if a parameter has none."""
    if default is inspect.Parameter.empty:
        return None
    return getattr(default, "__name__", None) or repr(default)
