"""A library that was compiled from other sources is refused, by all that would use it."""

import shutil
import subprocess

import pytest

from gensim_tfw2v import TFWord2Vec, compiled_library, word2vec_writer
from gensim_tfw2v.compiled_library import StaleLibrary
from gensim_tfw2v.corpus import scanner
from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.ops import library

pytestmark = pytest.mark.skipif(not shutil.which("c++"), reason="needs a compiler")

SOURCES = compiled_library.KERNELS.with_name("src")

#: Kernels without content: a stale library is refused before one is called.
KERNELS = """
#include "kernels/kernel.h"
namespace tfw2v::portable {
void train(const Tfw2vOptions&, const Tfw2vUnit&, const Tfw2vTables&, const Tfw2vRun&,
           Tfw2vResult&) {}
void infer(const Tfw2vOptions&, const Tfw2vNoiseTable&, const Tfw2vTables&,
           const Tfw2vInference&) {}
extern const RowKernel rows[3] = {};
}
"""

#: Names of changes, and the lines of a source that they replace by others.
CHANGES = {
    "none": ("unit.h", {}),
    "two options swapped": ("unit.h", {"int32_t, negative)": "int32_t, hierarchical)",
                                       "int32_t, hierarchical)": "int32_t, negative)"}),
    "last option missing": ("unit.h", {"X(int32_t, kernel)": ""}),
    "type of a field": ("unit.h", {"X(int64_t, loss_every)": "X(int32_t, loss_every)"}),
    "counts of shards swapped": ("text/text.h", {"(int64_t, entries)": "(int64_t, tokens)",
                                            "(int64_t, tokens)": "(int64_t, entries)"}),
}  # fmt: skip


def compiled(folder, change):
    """Compile the library's interface from changed sources, and return its path."""
    source, lines = CHANGES[change]
    shutil.copytree(SOURCES, folder, dirs_exist_ok=True)
    text = (folder / source).read_text()
    changed = []
    for line in text.splitlines():
        for old, new in lines.items():
            if old in line:
                line = line.replace(old, new)
                break
        changed.append(line)
    (folder / source).write_text("\n".join(changed) + "\n")
    # an option that is missing is not read, either
    interface = folder / "c_api.cc"
    interface.write_text(
        interface.read_text().replace("options.kernel", "options.learn_hidden")
        if change == "last option missing"
        else interface.read_text()
    )
    (folder / "kernels.cc").write_text(KERNELS)
    path = folder / "kernels.so"
    names = ("c_api.cc", "kernels/draws.cc", "text/text.cc", "kernels.cc")
    sources = [folder / name for name in names]
    command = ["c++", f"-I{folder}", "-std=c++17", "-O0", "-shared", "-fPIC", *sources, "-o", path]
    subprocess.run(command, check=True, timeout=300)
    return path


def test_library_of_these_sources_loads(tmp_path):
    compiled_library.check_layout(compiled(tmp_path, "none"))


@pytest.mark.parametrize("change", [name for name in CHANGES if name != "none"])
def test_library_of_other_sources_is_refused(tmp_path, monkeypatch, change):
    path = compiled(tmp_path, change)
    monkeypatch.setattr(compiled_library, "KERNELS", path)
    for module, name in (
        (compiled_library, "load"),
        (by_ctypes, "_library"),
        (scanner, "library"),
    ):
        monkeypatch.setattr(module, name, getattr(module, name).__wrapped__)
    said = r"^kernels.so was built from other sources .* pip install -v"
    for use in (by_ctypes.is_available, scanner.library, scanner.WordCounter, word2vec_writer._format_rows):
        with pytest.raises(StaleLibrary, match=said):
            use()
    with pytest.raises(StaleLibrary, match=said):  # neither trained, nor by the fallback
        TFWord2Vec([["a", "b"]] * 9, min_count=1, epochs=1)
    monkeypatch.setattr(library, "OPS", path)
    with pytest.raises(StaleLibrary, match=said):
        library.load_ops.__wrapped__()


def test_library_without_a_layout_is_refused(tmp_path):
    source = tmp_path / "older.cc"
    source.write_text('extern "C" void tfw2v_draw() {}')
    path = tmp_path / "kernels.so"
    subprocess.run(["c++", "-shared", "-fPIC", source, "-o", path], check=True)
    with pytest.raises(StaleLibrary):
        compiled_library.check_layout(path)


def test_hash_of_the_ops_depends_on_the_structs_of_their_library(monkeypatch):
    before = library.ops_hash()
    here = compiled_library.layout_in(library.OPS)
    assert here == compiled_library.layout()
    swapped = here.replace("int32_t mean;int32_t corrected;", "int32_t corrected;int32_t mean;")
    monkeypatch.setattr(compiled_library, "layout_in", lambda path: swapped)
    assert swapped != here and library.ops_hash() != before
