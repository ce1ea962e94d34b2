"""Tools that the study of graphs compares: the command of each, and what it needs."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: Options of the commands that wrap tools in Python.
OPTIONS = (
    "{edges} {vectors} --weighted {weighted} --num-walks {num_walks} --walk-length {walk_length} "
    "--p {p} --q {q} --vector-size {vector_size} --window {window} --epochs {epochs} "
    "--threads {threads} --seed {seed}"
)

#: Arguments of our command, except the number of epochs.
TRAIN = (
    "-m gensim_tfw2v train {edges} -o {vectors}.model --vectors {vectors} --walks "
    "--num-walks {num_walks} --walk-length {walk_length} --p {p} --q {q} --sg --min-count 1 "
    "--vector-size {vector_size} --window {window} --workers {threads} --seed {seed} --epochs"
)

#: Tool with whose times and scores all others are compared.
REFERENCE = "PecanPy + gensim"


@dataclass(frozen=True)
class Tool:
    """A command that reads edges, and writes vectors in word2vec's text format."""

    name: str
    #: Words of the command after the interpreter, separated by blanks, with placeholders.
    command: str
    modules: tuple[str, ...]  # Python modules that the tool needs
    packages: tuple[str, ...]  # packages whose versions are included in the results
    note: str = ""  # differences from the other tools

    def fill_in(self, values: Mapping[str, Any]) -> list[str]:
        """Return the words of the command, with values in place of the placeholders.

        The command is split before the replacement, so a path with blanks remains one word.
        """
        return [word.format(**values) for word in self.command.split()]

    def describe_absence(self) -> str | None:
        """Return the reason why the tool cannot run here, with a remedy; None if it can."""
        for module in self.modules:
            if importlib.util.find_spec(module) is None:
                return f"Python finds no module {module}; run: pip install {module}"
        return None


TOOLS = (
    Tool(
        REFERENCE,
        f"-m benchmarks.graphs.with_pecanpy {OPTIONS}",
        ("pecanpy",),
        ("pecanpy", "gensim", "numba"),
        "mode SparseOTF, and for p = q = 1 its faster modes FirstOrderUnweighted (without weights) "
        "and PreCompFirstOrder; all walks are in memory before gensim's `Word2Vec` reads them; "
        "the time includes compilation by Numba; its dependency nptyping looks up names that NumPy "
        "2 removed, so the command restores them",
    ),
    Tool(
        "fastnode2vec",
        f"-m benchmarks.graphs.with_fastnode2vec {OPTIONS}",
        ("fastnode2vec",),
        ("fastnode2vec", "gensim", "numba"),
        "gensim's training threads walk; each node counts once in its vocabulary, so negatives are "
        "drawn uniformly, and frequent nodes are not subsampled; the time includes compilation by "
        "Numba",
    ),
    Tool(
        "karateclub",
        f"-m benchmarks.graphs.with_karateclub {OPTIONS}",
        ("karateclub", "networkx"),
        ("karateclub", "networkx", "gensim"),
        "walks in Python; adds a self-loop to each node, leaves out weights, and trains CBOW with "
        "hierarchical softmax and negative samples at a learning rate of .05; installed without "
        "the old versions of NumPy, pandas and NetworkX that it asks for",
    ),
    Tool(
        "pycleora",
        f"-m benchmarks.graphs.with_pycleora {OPTIONS}",
        ("pycleora",),
        ("pycleora",),
        "Cleora's 40 multiplications by the transition matrix, so that p, q and the number of "
        "walks have no effect; leaves out weights",
    ),
    Tool(
        "RandomWalks + gensim",
        f"-m benchmarks.graphs.with_gensim {OPTIONS}",
        (),
        ("gensim-tfw2v", "gensim"),
        "our walks as lists of names in memory, which gensim's `Word2Vec` reads",
    ),
    Tool(
        "TFWord2Vec",
        f"{TRAIN} {{epochs}}",
        (),
        ("gensim-tfw2v", "tensorflow"),
        "`tfw2v train EDGES --walks`; training threads walk; the time includes saving a model in "
        "addition to the vectors",
    ),
    Tool(
        "TFWord2Vec, 5 epochs",
        f"{TRAIN} 5",
        (),
        ("gensim-tfw2v", "tensorflow"),
        "five times as many walks, because each epoch has new ones",
    ),
)
