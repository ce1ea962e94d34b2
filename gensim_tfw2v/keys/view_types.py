"""The compiled types from which `KeyIndex` and `KeyList` derive, and what connects them with keys.

The source is ``kernel/native/src/keys/views.cc``.
"""

import ctypes
import sysconfig
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from gensim_tfw2v import compiled_library
from gensim_tfw2v.keys.key_table import KeyTable

#: Size of an object's header in a Python with a GIL: a number of references and a type.
HEADER_BYTES = 16

#: Objects in the struct ``Python`` of ``views.cc``, by the names of its fields.
OBJECTS = {
    "str": str,
    "numpy_str": np.str_,
    "integer": int,
    "numpy_integer": np.integer,
    "none": None,
    "key_error": KeyError,
    "index_error": IndexError,
    "type_error": TypeError,
    "runtime_error": RuntimeError,
    "find": "find",
    "find_in_list": "find_in_list",
    "item": "item",
}


def _load_types() -> tuple[Any, Any] | None:
    """Return the types for dicts and for lists; None if this Python or system lacks what they need.

    They read objects' headers, so they need a Python with a GIL.
    """
    api: Any = getattr(ctypes, "pythonapi", None)
    has_gil = not sysconfig.get_config_var("Py_GIL_DISABLED")
    if api is None or not has_gil or object.__basicsize__ != HEADER_BYTES:
        return None
    try:
        functions = compiled_library.load_with_gil()
    except (OSError, compiled_library.StaleLibrary):  # training raises it
        return None
    names = functions.tfw2v_key_view_names().decode().split()
    addresses = [
        id(OBJECTS[name])
        if name in OBJECTS
        else ctypes.cast(getattr(api, name), ctypes.c_void_p).value
        for name in names
    ]
    return functions.tfw2v_key_view_types((ctypes.c_void_p * len(addresses))(*addresses))


_types = _load_types()

#: True if vocabularies can be compact here. Otherwise they are gensim's lists and dicts.
IS_SUPPORTED = _types is not None

if TYPE_CHECKING:

    class KeysAsDict:
        """Compiled type of the look-ups in a dict."""

        def __len__(self) -> int: ...
        def __getitem__(self, key: Any) -> int: ...
        def get(self, key: Any, default: Any = None, /) -> Any:
            """Return a key's index."""

        def _owner(self) -> Any: ...

    class KeysAsList:
        """Compiled type of the look-ups in a list."""

        def __len__(self) -> int: ...
        def __getitem__(self, item: Any) -> Any: ...
        def _owner(self) -> Any: ...

else:
    KeysAsDict, KeysAsList = _types or (type("KeysAsDict", (), {}), type("KeysAsList", (), {}))


#: Lock that is held while a view is turned into a list or a dict, so that two threads that change a
#: view at the same time change the same list.
CONVERSION_LOCK = threading.RLock()


def _functions() -> Any:
    """Return the library's functions; raise a RuntimeError where views are not supported."""
    if not IS_SUPPORTED:
        raise RuntimeError("this Python, or this system, does not support compact vocabularies")
    return compiled_library.load_with_gil()


def show_keys(view: Any, table: KeyTable, owner: Any) -> None:
    """Let a view show the keys of a table, which `owner` keeps alive."""
    _functions().tfw2v_key_view_set(view, ctypes.addressof(table), owner)


def show_plain(view: Any, plain: dict[Any, int] | list[Any]) -> None:
    """Let a view show a dict or a list instead of a table."""
    _functions().tfw2v_key_view_set(view, None, plain)


def list_keys(table: KeyTable, start: int, stop: int) -> list[Any]:
    """Return the keys with the indices [start, stop), as new objects."""
    return _functions().tfw2v_key_view_keys(ctypes.addressof(table), start, stop)
