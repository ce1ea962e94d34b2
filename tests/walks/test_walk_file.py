"""Files of walks: their header has the same fields in Python and in C++."""

import re
from pathlib import Path

from gensim_tfw2v.walks.walk_file import HEADER

SOURCE = Path(__file__).parents[2] / "gensim_tfw2v/kernel/native/src/walks/graph.h"

#: Types of C++ of the types of module `struct`.
TYPES = {"8s": "uint64_t", "q": "int64_t", "Q": "uint64_t", "d": "double"}


def test_fields_of_the_header_are_those_of_the_struct():
    struct = re.search(r"struct WalkHeader \{(.*?)\n\};", SOURCE.read_text(), re.DOTALL)
    statements = re.sub(r"//.*", "", struct[1]).split(";")
    fields = []
    for statement in filter(str.strip, statements):
        cpp_type, names = statement.split(maxsplit=1)
        fields += [(name.strip(), cpp_type) for name in names.split(",")]
    assert fields == [(name, TYPES[kind]) for name, kind in HEADER.items()]
