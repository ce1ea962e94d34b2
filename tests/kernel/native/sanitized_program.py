"""Run a program with a library compiled with sanitizers: ``sanitized_program.py PROGRAM LIBRARY``.

Sanitizers must be loaded before all other code, so a program that uses them is a process of its
own. It imports the modules of gensim_tfw2v without gensim and TensorFlow. Its arguments are LIBRARY
and those after it.
"""

import runpy
import sys
import types
from pathlib import Path

ROOT = Path(__file__).parents[3]


def main():
    del sys.argv[0]
    program, library = sys.argv[:2]
    package = types.ModuleType("gensim_tfw2v")  # the real __init__ imports gensim
    package.__path__ = [str(ROOT / "gensim_tfw2v")]
    sys.modules["gensim_tfw2v"] = package
    sys.path.insert(0, str(ROOT))

    from gensim_tfw2v import compiled_library

    compiled_library.KERNELS = Path(library)  # before a module loads it
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main()
