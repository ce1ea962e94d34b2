"""Weight tables: the only list of the trained arrays of models.

Whatever checks, saves, loads, merges, rotates or trains weights reads this list. So a new array is
declared here, and its table is a field of `kernel.tables.Tables`.
"""

from dataclasses import dataclass
from typing import Literal

#: The classes of gensim that have models.
ALL_CLASSES = ("Word2Vec", "FastText", "Doc2Vec")


@dataclass(frozen=True)
class WeightArray:
    """Trained array of models, float32 in C order.

    Files and folders contain all arrays, and checkpoints the tables that are made of them.

    Attributes
    ----------
    name : str
        gensim's attribute of a model, or of its vectors: ``syn1neg``, ``wv.vectors``.
    table : str
        Table that is trained, a field of `Tables`. The inputs may consist of several arrays, an
        array of the output layer is a table.
    rows_of : {"words", "tags", "buckets", "nodes"}
        Kind of the rows. Row i belongs to the word, tag, bucket of n-grams, or inner node of the
        Huffman tree with index i. gensim's arrays of nodes have as many rows as there are words.
    class_names : tuple of str
        gensim's classes that train the array.
    option : str
        For an array of the output layer, the option that is not 0 in models that train it. Its rows
        are as long as the hidden layer, start from 0, and stay the same with
        ``learn_hidden=False``.
    """

    name: str
    table: str
    rows_of: Literal["words", "tags", "buckets", "nodes"]
    class_names: tuple[str, ...] = ALL_CLASSES
    option: str = ""

    @property
    def holder(self) -> str:
        """Attribute of the model that has the array: ``wv`` or ``dv``; "" for the model itself."""
        return self.name.rpartition(".")[0]

    @property
    def attribute(self) -> str:
        """Name of the array in its holder."""
        return self.name.rpartition(".")[2]


# FastText's models compute wv.vectors from two arrays of their own.
VECTORS = WeightArray("wv.vectors", "inputs", "words", ("Word2Vec", "Doc2Vec"))
OWN_ROWS = WeightArray("wv.vectors_vocab", "inputs", "words", ("FastText",))
NGRAMS = WeightArray("wv.vectors_ngrams", "inputs", "buckets", ("FastText",))
TAGS = WeightArray("dv.vectors", "inputs", "tags", ("Doc2Vec",))
OUTPUTS = WeightArray("syn1neg", "outputs", "words", option="negative")
NODES = WeightArray("syn1", "nodes", "nodes", option="hs")

#: Arrays of inputs.
INPUT_LAYER = (VECTORS, OWN_ROWS, NGRAMS, TAGS)

#: Arrays of the output layer. Each is a table.
OUTPUT_LAYER = (OUTPUTS, NODES)

#: Attributes that are trained arrays, of a model and of its vectors.
ATTRIBUTES = tuple(dict.fromkeys(array.attribute for array in (*INPUT_LAYER, *OUTPUT_LAYER)))
