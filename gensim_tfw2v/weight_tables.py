"""Weight tables: the only list of the trained arrays of models.

Whatever checks, saves, loads, merges, rotates or trains weights reads this list. So a new array is
declared here, and its table is a field of `kernel.tables.Tables`.
"""

from dataclasses import dataclass
from typing import Literal

#: Names of gensim's classes of models.
ALL_CLASSES = ("Word2Vec", "FastText", "Doc2Vec")


@dataclass(frozen=True)
class WeightArray:
    """Trained array of models, float32 in C order.

    Model files and pretrained folders contain all of a model's arrays. Checkpoints contain the
    tables that training builds from the arrays.

    Attributes
    ----------
    name : str
        gensim's attribute of a model, or of its vectors: ``syn1neg``, ``wv.vectors``.
    table : str
        Field of `Tables`, the tables that kernels train. The table ``inputs`` may consist of
        several arrays. Each array of the output layer is a table of its own.
    rows_of : {"words", "tags", "buckets", "nodes"}
        Kind of the rows. Row i belongs to the word, tag, bucket of n-grams, or inner node of the
        Huffman tree with index i. gensim's arrays of nodes have as many rows as there are words.
    class_names : tuple of str
        gensim's classes that train the array.
    option : str
        For an array of the output layer: name of the option that is not 0 if a model trains the
        array; "" for inputs. Rows of the output layer are as long as the hidden layer and start
        from 0. With ``learn_hidden=False``, training does not change them.
    """

    name: str
    table: str
    rows_of: Literal["words", "tags", "buckets", "nodes"]
    class_names: tuple[str, ...] = ALL_CLASSES
    option: str = ""

    @property
    def holder(self) -> str:
        """Part of the model that has the array: ``wv`` or ``dv``; "" for the model itself."""
        return self.name.rpartition(".")[0]

    @property
    def attribute(self) -> str:
        """Name of the array in its holder."""
        return self.name.rpartition(".")[2]


# FastText is missing here, because its models compute wv.vectors from OWN_ROWS and NGRAMS.
VECTORS = WeightArray("wv.vectors", "inputs", "words", ("Word2Vec", "Doc2Vec"))
OWN_ROWS = WeightArray("wv.vectors_vocab", "inputs", "words", ("FastText",))
NGRAMS = WeightArray("wv.vectors_ngrams", "inputs", "buckets", ("FastText",))
TAGS = WeightArray("dv.vectors", "inputs", "tags", ("Doc2Vec",))
OUTPUTS = WeightArray("syn1neg", "outputs", "words", option="negative")
NODES = WeightArray("syn1", "nodes", "nodes", option="hs")

#: Arrays that the table of inputs is built from.
INPUT_LAYER = (VECTORS, OWN_ROWS, NGRAMS, TAGS)

#: Arrays of the output layer. Each is a table.
OUTPUT_LAYER = (OUTPUTS, NODES)

#: Names of the attributes that are trained arrays, of a model or of its vectors (`holder`).
ATTRIBUTES = tuple(dict.fromkeys(array.attribute for array in (*INPUT_LAYER, *OUTPUT_LAYER)))
