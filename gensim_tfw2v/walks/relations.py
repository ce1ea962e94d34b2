"""Relations of edges, and their names."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from gensim_tfw2v.messages import quoted
from gensim_tfw2v.walks.array_values import as_array
from gensim_tfw2v.walks.csr_graph import CsrGraph, Relations
from gensim_tfw2v.walks.node_names import number_integers


def number_relations(values: Iterable[Any]) -> Relations:
    """Return the relations of edges whose names are any objects that can be keys."""
    number_of: dict[Any, int] = {}
    numbers = [number_of.setdefault(value, len(number_of)) for value in values]
    return Relations(np.array(numbers, np.int32), list(number_of))


def read_relation_array(relation: Any, n_edges: int) -> Relations:
    """Return the relations of edges from an array or tensor with a name per edge.

    Raises
    ------
    TypeError
        If the names are neither integers nor strings.
    ValueError
        If the array doesn't have an element per edge.
    """
    values = as_array("relation", relation, 1, "iuOU")
    if len(values) != n_edges:
        raise ValueError(
            f"relation has {len(values):,} elements, but edge_index has {n_edges:,} edges"
        )
    if values.dtype.kind in "iu":
        names, numbers = number_integers(values)
        return Relations(numbers, names)
    return number_relations(values.tolist())


def list_names(graph: CsrGraph) -> Sequence[Any]:
    """Return the names of the nodes, followed by those of the relations if there are some.

    Raises
    ------
    ValueError
        If a node and a relation have the same name.
    """
    if graph.relations is None:
        return graph.names
    nodes = graph.names if isinstance(graph.names, range) else set(graph.names)
    for name in graph.relations.names:
        if name in nodes:
            raise ValueError(
                f"{quoted(name)} is the name of a node and of a relation, but the words of walks "
                f"must differ: rename the relations, as in {quoted(f'relation {name}')}"
            )
    return [*graph.names, *graph.relations.names]
