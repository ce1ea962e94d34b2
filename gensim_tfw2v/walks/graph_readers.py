"""Reader of graphs in all formats in which users have them."""

import os
from pathlib import Path
from typing import Any

from gensim_tfw2v.corpus.tables.table_formats import find_format
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.walks.csr_graph import CsrGraph
from gensim_tfw2v.walks.edge_arrays import read_edge_index, read_geometric_data
from gensim_tfw2v.walks.edge_lists import read_edge_list
from gensim_tfw2v.walks.edge_table_reader import read_edge_table
from gensim_tfw2v.walks.edge_tables import FileTable, MemoryTable
from gensim_tfw2v.walks.graph_objects import (
    is_igraph,
    is_networkx,
    read_igraph,
    read_networkx,
)
from gensim_tfw2v.walks.sparse_matrices import read_csr_arrays, read_matrix

#: Description of the graphs that `read_graph` accepts, for messages.
ACCEPTED = (
    "a path of a list or table of edges, a table of pandas, polars or pyarrow, a sparse matrix of "
    "SciPy, a graph of networkx or igraph, an array edge_index of shape [2, edges], or a tuple "
    "(indptr, indices) or (indptr, indices, weights)"
)


def read_graph(
    graph: Any, weight: Any = None, directed: bool = False, relation: Any = None
) -> CsrGraph:
    """Read a graph.

    An edge of weight 0 is no edge. A node without edges remains in the graph, if the format has
    such nodes, as matrices and networkx's graphs do.

    In lists and tables of edges, and in `edge_index`, an edge that is listed several times is one
    edge, with the weight that is listed last, as in networkx and PecanPy. If the graph is
    undirected, a - b and b - a are the same edge, so each edge may be listed once or in both
    directions. Parallel edges need a multigraph of networkx or igraph, or weights.

    Parameters
    ----------
    graph : path, table, matrix, graph, array or tuple
        The graph is one of these:

        - Path of a list of edges as text, such as .tsv, .txt, .edg or .edgelist, which may be
          compressed (.gz, .bz2, .xz, .zst, .lz4). A line has two names, and perhaps a number, the
          weight. They are separated by tabs if the first line contains one, and otherwise by
          blanks. Lines that start with # or % are comments. Names are strings, also if they look
          like numbers.
        - Path of a table: .csv (commas; names are strings as well), .parquet, .feather, .arrow,
          .orc, or a folder of them; or a table of pandas, polars or pyarrow, whose names are
          strings or integers. The ends of an edge are the columns source and target, src and dst,
          or from and to, in any case, and otherwise the first two columns. Columns without a name,
          such as the index that pandas writes, are left out of these, unless only one other column
          remains.
        - Sparse matrix or array of SciPy: element (i, j) is the weight of the arc from node i to
          node j. Repeated elements are added.
        - Tuple ``(indptr, indices)`` or ``(indptr, indices, weights)``: arrays of such a matrix.
        - Graph of networkx, or of igraph, whose vertices may have the attribute "name". Edges of
          multigraphs stay parallel.
        - Array or tensor ``edge_index`` of integers, [2, E], or PyTorch Geometric's ``Data``.

        The first line of a text, or row of a CSV file, consists of names of columns if `weight` or
        `relation` is set, or if the usual names of both ends are in it. It does, too, if it
        contains no numbers, but the next rows do: integers at both ends, or a number in the third
        column. Columns that are neither the ends, nor the weight, nor the relation are ignored if
        they have names.
    weight : str or array, optional
        Name of the column of a table, or of the attribute of edges, that has the weights. By
        default it is "weight" ("edge_weight" in PyTorch Geometric's data), if there is one; other
        columns and attributes are ignored. In a text without a header, the third column is the
        weight. For `edge_index` and ``(indptr, indices)``: the array of the weights, [E].
    directed : bool
        Whether edges have a direction. Graphs of networkx and igraph have their own property. If
        the graph is undirected, the matrix may be symmetric, or have each edge only once, as a
        triangular matrix does.
    relation : str or array, optional
        Name of the column of a table, or of the attribute of edges, that has the names of the
        relations for which edges stand. For `edge_index`: the array of these names, strings or
        integers, [E]. Edges of different relations between the same nodes are different edges.

    Returns
    -------
    CsrGraph

    Raises
    ------
    ImportError
        If a package that reads a table is missing.
    OSError
        If a file can't be read.
    TypeError
        If the graph or an option is of a wrong type.
    ValueError
        If the graph has no edges, if a weight is negative or not finite, if a name is missing, or
        if the graph is not valid in its format.
    """
    if not isinstance(directed, bool):
        raise TypeError(f"directed must be True or False, got {quoted(directed)}")
    csr_graph = _read(graph, weight, relation, directed)
    if not csr_graph.n_nodes:
        raise ValueError("the graph has no nodes; walks need nodes and edges")
    if not csr_graph.n_arcs:
        raise ValueError(
            f"the graph has {csr_graph.n_nodes:,} nodes, but no edges of a weight above 0; walks "
            "need edges"
        )
    return csr_graph


def _read(graph: Any, weight: Any, relation: Any, directed: bool) -> CsrGraph:
    """Read a graph, which may have no edges."""
    if isinstance(graph, str | os.PathLike):
        return _read_file(os.fspath(graph), *_column_names(weight, relation), directed)
    if hasattr(graph, "edge_index"):
        return read_geometric_data(graph, *_column_names(weight, relation), directed)
    if is_networkx(graph):
        return read_networkx(graph, *_column_names(weight, relation))
    if is_igraph(graph):
        return read_igraph(graph, *_column_names(weight, relation))
    if relation is not None and (hasattr(graph, "tocsr") or type(graph) is tuple):
        raise TypeError(
            "relation has no effect on a matrix, which has one element per pair of nodes: pass an "
            "array edge_index of shape [2, edges], and an array with the relation of each edge"
        )
    if hasattr(graph, "tocsr"):
        if weight is not None:
            raise TypeError(
                f"weight has no effect on a matrix, whose elements are the weights: leave it out, "
                f"got {quoted(weight)}"
            )
        return read_matrix(graph, directed)
    if type(graph) is tuple:
        if weight is not None and (len(graph) != 2 or isinstance(weight, str)):
            raise TypeError(
                "weight must be an array for a tuple (indptr, indices), and None for other tuples, "
                f"got {quoted(weight)}"
            )
        return read_csr_arrays(graph if weight is None else (*graph, weight), directed)
    if hasattr(graph, "collect") and hasattr(graph, "lazy"):  # polars' LazyFrame
        graph = graph.collect()
    if hasattr(graph, "__arrow_c_stream__") or hasattr(graph, "columns"):
        return read_edge_table(MemoryTable(graph, *_column_names(weight, relation)), directed)
    if hasattr(graph, "__array__"):
        if isinstance(weight, str):
            raise TypeError(f"weight must be an array for an edge_index, got {quoted(weight)}")
        if isinstance(relation, str):
            raise TypeError(f"relation must be an array for an edge_index, got {quoted(relation)}")
        return read_edge_index(graph, weight, relation, directed)
    advice = ""
    if isinstance(graph, list):
        advice = "; for a list of pairs of names, pass pandas.DataFrame(graph)"
    raise TypeError(f"graph must be {ACCEPTED}, got {quoted(graph)}{advice}")


def _read_file(path: str, weight: str | None, relation: str | None, directed: bool) -> CsrGraph:
    """Read a list or table of edges in a file, or a table in a folder."""
    table_format = find_format(path)
    is_list = table_format is None or table_format.name == "TSV"
    if is_list and not Path(path).is_dir():
        return read_edge_list(path, weight, relation, directed)
    return read_edge_table(FileTable(path, weight, relation), directed)


def _column_names(weight: Any, relation: Any) -> tuple[str | None, str | None]:
    """Return the names of the columns or attributes of weights and of relations."""
    if weight is not None and not isinstance(weight, str):
        raise TypeError(
            "weight must be the name of a column or an attribute for this graph, got "
            f"{quoted(weight)}; only an edge_index or (indptr, indices) may have an array of "
            "weights"
        )
    if relation is not None and not isinstance(relation, str):
        raise TypeError(
            "relation must be the name of a column or an attribute for this graph, got "
            f"{quoted(relation)}; only an edge_index may have an array of relations"
        )
    return weight, relation
