"""gensim's own classes, even if gensim's modules have been patched to contain different ones.

A program may replace the names in gensim's modules, as `gensim_tfw2v.patch_gensim` does. gensim's
methods and pickles look up their own class by such a name. This module makes both find gensim's
own class.
"""

import copyreg
import functools
import pkgutil
import sys
from types import ModuleType
from typing import Any

from gensim.models import Doc2Vec as Doc2Vec
from gensim.models import FastText as FastText
from gensim.models import Word2Vec as Word2Vec
from gensim.models import doc2vec, fasttext, word2vec

_CLASSES: tuple[type, ...] = (Word2Vec, FastText, Doc2Vec)


def replace_in_gensim(name: str, old: type, new: type) -> None:
    """Replace class `old` by `new` in each of gensim's modules in which `name` refers to `old`."""
    for path, module in list(sys.modules.items()):
        is_gensims = path.startswith("gensim.") and isinstance(module, ModuleType)
        if is_gensims and vars(module).get(name) is old:
            setattr(module, name, new)


def _use_private_name(class_: type) -> None:
    """Make gensim's methods look the class up under a private name, which nothing replaces."""
    name = class_.__name__
    private_name = f"_gensims_own_{name}"
    for module in (word2vec, fasttext, doc2vec):
        setattr(module, private_name, class_)
    for member in (member for owner in _CLASSES for member in vars(owner).values()):
        function = getattr(member, "__func__", member)  # a class method wraps its function
        code = getattr(function, "__code__", None)
        if code is not None and name in code.co_names:
            names = (private_name if each == name else each for each in code.co_names)
            function.__code__ = code.replace(co_names=tuple(names))


class _ObjectFactory:
    """Factory of empty objects of a gensim class, which is pickled by name: see `_ClassByName`."""

    def __init__(self, class_: type) -> None:
        self._class = class_

    def __call__(self) -> Any:
        return object.__new__(self._class)

    def __reduce__(self) -> Any:
        return functools.partial, (object.__new__, _ClassByName(self._class))


class _ClassByName:
    """Stand-in for a class in pickles: only the class's name is pickled.

    Unpickling returns the class that has this name then. pickle itself refuses a class whose name
    refers to a different object.
    """

    def __init__(self, class_: type) -> None:
        self._name = f"{class_.__module__}:{class_.__name__}"

    def __reduce__(self) -> Any:
        return pkgutil.resolve_name, (self._name,)


def _reduce(model: Any) -> Any:
    """Reduce a model of a gensim class, for pickling and copying.

    If a patch has given the class's name to a different class, the model is pickled by that name,
    because pickle would refuse the class itself.
    """
    class_ = type(model)
    reduced = model.__reduce_ex__(2)
    if getattr(sys.modules[class_.__module__], class_.__name__) is class_:
        return reduced
    return _ObjectFactory(class_), (), *reduced[2:]


for _class in _CLASSES:
    _use_private_name(_class)
    copyreg.pickle(_class, _reduce)  # subclasses keep their own pickling
