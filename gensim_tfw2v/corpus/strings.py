"""Conversion of Python's strings to UTF-8 by compiled code, which calls Python's stable C API.

The source is ``kernel/native/src/text/strings.cc``.
"""

import ctypes
import functools
import sysconfig
from collections.abc import Sequence
from itertools import chain
from typing import Any

from gensim_tfw2v import compiled_library

#: Python's flag of methods whose function in C is called with the object and a null pointer.
METH_NOARGS = 0x4


def join_strings(sentences: list[Sequence[Any]]) -> bytes | None:
    """Return the words of lists and tuples in UTF-8, with a zero byte after each.

    Returns None if a word is not a string. A subclass of str is not accepted, because it may define
    its own equality.
    """
    if (functions := _python_functions()) is not None:
        try:
            text: bytes = compiled_library.load_with_gil().tfw2v_join_strings(functions, sentences)
        except TypeError:
            return None
        return text
    words = list(chain.from_iterable(sentences))
    if {*map(type, words)} <= {str}:
        return "".join(f"{word}\0" for word in words).encode("utf-8", "surrogatepass")
    return None


@functools.cache
def _python_functions() -> Any:
    """Return the struct ``Python`` of ``strings.cc``, as an array of addresses.

    Returns None if this Python has no C API for ctypes, if it calls `str.isascii` differently, or
    if it has no GIL, so that other threads may change a list while it is read.
    """
    api: Any = getattr(ctypes, "pythonapi", None)
    if api is None or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    isascii = "".isascii
    flags = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object)(("PyCFunction_GetFlags", api))
    if flags(isascii) != METH_NOARGS:
        return None
    address_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)
    method = address_of(("PyCFunction_GetFunction", api))(isascii)
    names = compiled_library.load_with_gil().tfw2v_python_names().decode().split()
    addresses = [ctypes.cast(getattr(api, name), ctypes.c_void_p).value for name in names]
    addresses += [method, *map(id, (True, str, list))]
    return (ctypes.c_void_p * len(addresses))(*addresses)
