"""Metapaths: walks along arcs whose types are prescribed, as on nodes of successive types."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.messages import quoted
from gensim_tfw2v.walks.csr_graph import CsrGraph, Nodes
from gensim_tfw2v.walks.node_names import find_name

#: Maximum number of types that a message lists.
MAX_EXAMPLES = 10


class MetapathGraph(NamedTuple):
    """Arcs that a metapath follows, grouped by their types.

    Attributes
    ----------
    graph : CsrGraph
        Each node has a row of arcs for each type: row ``node * n_types + type``.
    steps : ndarray of int32
        Types of successive arcs of a walk, which are repeated.
    starts : ndarray of int32
        Nodes at which the metapath starts.
    """

    graph: CsrGraph
    steps: NDArray[np.int32]
    starts: Nodes

    def check_starts(self, nodes: Nodes) -> None:
        """Raise a ValueError if the metapath can't start at one of these nodes."""
        is_start = np.isin(nodes, self.starts)
        if not is_start.all():
            name = self.graph.names[nodes[np.argmin(is_start)]]
            raise ValueError(
                f"start_nodes has {quoted(name)}, at which the metapath can't start: pass only "
                "nodes of its first type, or nodes with an edge of its first relation"
            )


def check_options(node_types: Any, relation: Any, metapath: Any, *, is_first_order: bool) -> None:
    """Raise a ValueError if options of `RandomWalks` can't be combined, or have no effect.

    `is_first_order` is whether the next arc of a walk depends on its current node only.
    """
    if node_types is not None and relation is not None:
        raise ValueError(
            "node_types and relation can't be combined, because a metapath consists of types of "
            "nodes or of relations: leave out one of them"
        )
    if node_types is not None and metapath is None:
        raise ValueError(
            "node_types has no effect without metapath, the types of successive nodes: set "
            "metapath, or leave out node_types"
        )
    if metapath is not None and node_types is None and relation is None:
        raise ValueError(
            "metapath needs the types of the nodes or of the edges: set node_types or relation"
        )
    if metapath is not None and not is_first_order:
        raise ValueError(
            "p, q and extend can't be combined with metapath, which prescribes the type of the "
            "next node or relation: leave out p, q and extend"
        )


def follow_node_types(
    graph: CsrGraph, node_types: Sequence[Any], metapath: Iterable[Any]
) -> MetapathGraph:
    """Return the arcs between nodes of successive types (metapath2vec).

    The type of an arc is that of the node where it ends.

    Parameters
    ----------
    graph : CsrGraph
    node_types : sequence
        Type of each node.
    metapath : iterable
        Types of successive nodes. The last type is the first one, from which the metapath is
        repeated.

    Raises
    ------
    TypeError
        If the metapath is a string.
    ValueError
        If the metapath doesn't return to its first type, if no node has one of its types, or if no
        arc leads from one of its types to the next.
    """
    metapath = _read_metapath(metapath, dict.fromkeys(node_types), "node")
    if len(metapath) < 2 or metapath[-1] != metapath[0]:
        raise ValueError(
            f"metapath must end with the type with which it starts, because it is repeated, got "
            f"{quoted(metapath)}: add its first type at the end"
        )
    numbers = {node_type: number for number, node_type in enumerate(dict.fromkeys(metapath))}
    type_numbers = np.array([numbers.get(node_type, -1) for node_type in node_types], np.int32)
    grouped = _group_arcs(graph, type_numbers[graph.neighbours], len(numbers))
    n_arcs = np.diff(grouped.offsets).reshape(graph.n_nodes, len(numbers))
    for node_type, next_type in pairwise(metapath):
        is_source = type_numbers == numbers[node_type]
        if not n_arcs[is_source, numbers[next_type]].any():
            raise ValueError(
                f"no edge leads from a node of type {quoted(node_type)} to one of type "
                f"{quoted(next_type)}, as the metapath requires: change metapath or node_types, or "
                "leave out directed if edges can be followed in both directions"
            )
    steps = np.array([numbers[node_type] for node_type in metapath[1:]], np.int32)
    return MetapathGraph(grouped, steps, _nodes_where(type_numbers == numbers[metapath[0]]))


def follow_relations(graph: CsrGraph, metapath: Iterable[Any]) -> MetapathGraph:
    """Return the arcs of a repeated sequence of relations.

    The metapath starts at nodes with an arc of its first relation.

    Raises
    ------
    TypeError
        If the metapath is a string.
    ValueError
        If the metapath is empty, or no arc has one of its relations.
    """
    assert graph.relations is not None
    names = graph.relations.names
    metapath = _read_metapath(metapath, dict.fromkeys(names), "relation")
    numbers = {relation: number for number, relation in enumerate(dict.fromkeys(metapath))}
    type_numbers = np.array([numbers.get(name, -1) for name in names], np.int32)
    grouped = _group_arcs(graph, type_numbers[graph.relations.numbers], len(numbers))
    n_arcs = np.diff(grouped.offsets).reshape(graph.n_nodes, len(numbers))
    steps = np.array([numbers[relation] for relation in metapath], np.int32)
    return MetapathGraph(grouped, steps, _nodes_where(n_arcs[:, steps[0]] > 0))


def _read_metapath(metapath: Iterable[Any], types: Mapping[Any, Any], kind: str) -> list[Any]:
    """Return a metapath as a list; integers may be strings of digits.

    Raises an error if the metapath is a string, if it is empty, or if it has a type that is not a
    key of `types`, those of all nodes or relations. `kind` is "node" or "relation".
    """
    if isinstance(metapath, str | bytes):
        raise TypeError(f"metapath must be several types, such as a list, got {quoted(metapath)}")
    metapath_types = [find_name(metapath_type, types) for metapath_type in metapath]
    if not metapath_types:
        raise ValueError("metapath is empty: list the types that walks follow, or leave it out")
    for metapath_type in metapath_types:
        if metapath_type not in types:
            example_types = ", ".join(quoted(example) for example in islice(types, MAX_EXAMPLES))
            more = ", ..." if len(types) > MAX_EXAMPLES else ""
            raise ValueError(
                f"metapath has {quoted(metapath_type)}, but no {kind} is of this type. The types "
                f"are {example_types}{more}"
            )
    return metapath_types


def _group_arcs(graph: CsrGraph, arc_types: NDArray[np.int32], n_types: int) -> CsrGraph:
    """Return a graph with a row of arcs for each node and type; arcs of type -1 are left out."""
    arcs = np.flatnonzero(arc_types >= 0)
    rows = graph.sources()[arcs].astype(np.int64) * n_types + arc_types[arcs]
    n_arcs = np.bincount(rows, minlength=graph.n_nodes * n_types)
    arcs = arcs[np.argsort(rows, kind="stable")]
    return CsrGraph(
        graph.names,
        np.append(0, np.cumsum(n_arcs)).astype(np.int64),
        graph.neighbours[arcs],
        None if graph.weights is None else graph.weights[arcs],
    )


def _nodes_where(is_node: NDArray[np.bool_]) -> Nodes:
    return np.flatnonzero(is_node).astype(np.int32)
