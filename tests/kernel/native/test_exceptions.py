"""No exception of C++ leaves a function that Python or TensorFlow calls: it would end the process.

test_memory.py lets each allocation fail. This reads that no exported function is without a guard.
"""

import re

import pytest

from gensim_tfw2v import compiled_library

SOURCES = compiled_library.KERNELS.with_name("src")

#: An exported function up to the end of its body, which begins a line or ends one.
DEFINITION = re.compile(r"^TFW2V_EXPORT [^;{]*?\b(tfw2v_\w+)\([^{;]*\{.*?(?:\}$|^\})", re.M | re.S)


def definitions():
    found = {}
    for path in SOURCES.rglob("*.cc"):
        text = path.read_text(encoding="utf-8")
        found |= {match[1]: match[0] for match in DEFINITION.finditer(text)}
    return found


def test_all_functions_that_python_calls_are_found():
    names = {*compiled_library.FUNCTIONS, *compiled_library.GIL_FUNCTIONS, "layout"}
    assert {name.removeprefix("tfw2v_") for name in definitions()} == names


@pytest.mark.parametrize("name", sorted(definitions()))
def test_exported_function_is_guarded_or_does_not_throw(name):
    text = definitions()[name]
    signature = text[: text.index("{")]
    assert re.search(r"\btfw2v::guarded(_message)?[(<]", text) or "noexcept" in signature


def test_ops_are_registered_with_a_guard():
    text = (SOURCES / "tensorflow/op.h").read_text(encoding="utf-8")
    assert "attribute.make, compute_guarded<compute>, attribute.destroy" in text
    assert re.search(r"void compute_guarded\([^)]*\) noexcept \{", text)
    for path in SOURCES.glob("tensorflow/*.cc"):  # states are made without an exception, too
        assert "new " not in re.sub(r"//.*", "", path.read_text(encoding="utf-8")).replace(
            "(new int32_t[end])", ""
        )
