"""Readers of the types of nodes."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gensim_tfw2v.line_fields import has_tabs, join_fields, split_lines
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.walks.graph_objects import is_igraph, is_networkx, read_node_attribute
from gensim_tfw2v.walks.text_blocks import read_blocks


def read_node_types(node_types: Any, graph: Any, names: Sequence[Any]) -> list[Any]:
    """Return the type of each node of a graph.

    Parameters
    ----------
    node_types : mapping, Series, array, str or path
        The types are one of these:

        - Mapping, or Series of pandas, from the name of each node to its type.
        - Array or list, for nodes that are the integers 0 ... n - 1: type of each node.
        - Name of the attribute of nodes that has the types, for a graph of networkx or igraph.
        - Path of a text, which may be compressed. A line has the name of a node and its type. They
          are separated by a tab if the first line contains one, and otherwise by blanks. Lines that
          start with # or % are comments.
    graph : object
        Graph that the user has passed.
    names : sequence
        Names of its nodes.

    Raises
    ------
    OSError
        If the file can't be read.
    TypeError
        If the types are not in one of these formats.
    ValueError
        If a node has no type, or if the file or the attribute is not valid.
    """
    if isinstance(node_types, str) and (is_networkx(graph) or is_igraph(graph)):
        types = read_node_attribute(graph, node_types)
    elif isinstance(node_types, str | os.PathLike):
        type_of_text = _read_file(os.fspath(node_types))
        types = [type_of_text.get(str(name)) for name in names]
    elif isinstance(node_types, Mapping) or hasattr(node_types, "items"):
        type_of = dict(node_types.items())
        types = [type_of.get(name) for name in names]
    elif isinstance(node_types, list | tuple) or hasattr(node_types, "__array__"):
        types = _read_array(node_types, names)
    else:
        raise TypeError(
            "node_types must be a mapping from the name of each node to its type, an array, the "
            f"path of a file, or the name of an attribute of nodes, got {quoted(node_types)}"
        )
    nodes = [node for node, node_type in enumerate(types) if node_type is None]
    if nodes:
        examples = ", ".join(quoted(names[node]) for node in nodes[:3])
        raise ValueError(
            f"node_types has no type for {len(nodes):,} of {len(names):,} nodes, such as "
            f"{examples}: add their types"
        )
    return types


def _read_array(node_types: Any, names: Sequence[Any]) -> list[Any]:
    """Return the types in an array or a list, in which they are in the order of the nodes."""
    if hasattr(node_types, "detach"):  # PyTorch's tensors may be on a GPU
        node_types = node_types.detach().cpu().numpy()
    types: list[Any] = np.asarray(node_types).tolist()
    if not isinstance(names, range):
        raise TypeError(
            "node_types must be a mapping from the name of each node to its type, because the "
            f"nodes have names, such as {quoted(names[0])}; got an array"
        )
    if len(types) != len(names):
        raise ValueError(
            f"node_types has {len(types):,} elements, but the graph has {len(names):,} nodes"
        )
    return types


def _read_file(path: str) -> dict[str, str]:
    """Return the types in a text, by the name of the node."""
    type_of: dict[str, str] = {}
    n_lines = 0
    for block in read_blocks(path):
        if not n_lines:
            by_tabs = has_tabs(block)
        fields = split_lines(block, by_tabs)
        is_pair = fields.n_fields == 2
        if not is_pair.all():
            row = int(np.argmin(is_pair))
            line = [field.decode() for field in fields.line(row)]
            raise ValueError(
                f"{path}, line {n_lines + int(fields.lines[row]) + 1:,}, has {len(line)} "
                f"column{'s' * (len(line) != 1)}, {quoted(line)}, but must have two, separated by "
                f"{'a tab' if by_tabs else 'blanks'}: the name of a node, and its type"
            )
        text = join_fields(fields.data, fields.starts, fields.stops, b"\0").decode()
        cells = text.split("\0")
        type_of.update(zip(cells[:-1:2], cells[1::2], strict=True))
        n_lines += block.count(b"\n")
    return type_of
