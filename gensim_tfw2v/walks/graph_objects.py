"""Readers of the graphs of networkx and igraph, which say themselves whether they are directed."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.messages import quoted
from gensim_tfw2v.walks.csr_graph import CsrGraph, find_invalid_weight, weight_message
from gensim_tfw2v.walks.edge_columns import WEIGHT_NAME

#: Attribute of igraph's vertices that has their names.
NAME_ATTRIBUTE = "name"


def read_networkx(graph: Any, weight: str | None) -> CsrGraph:
    """Read a graph of networkx. The edges of a multigraph stay parallel.

    `weight` is the name of the attribute of edges that has the weights, by default "weight", if
    there is one. An edge without it has the weight 1, as in networkx.

    Raises
    ------
    TypeError
        If a weight is not a number.
    ValueError
        If no edge has the attribute, or if a weight is not valid.
    """
    names = list(graph)
    numbers = {name: number for number, name in enumerate(names)}
    edges = [
        (numbers[source], numbers[target], value)
        for source, target, value in graph.edges(data=weight or WEIGHT_NAME, default=None)
    ]
    sources = np.fromiter((source for source, _, _ in edges), np.int32, len(edges))
    targets = np.fromiter((target for _, target, _ in edges), np.int32, len(edges))
    values = [value for _, _, value in edges]
    has_weights = any(value is not None for value in values)
    if edges and weight is not None and not has_weights:
        raise ValueError(f"no edge of the graph has the attribute {quoted(weight)}: add it")
    weights = None
    if has_weights:
        ends = [(names[source], names[target]) for source, target, _ in edges]
        weights = _read_weights((1 if value is None else value for value in values), ends)
    return CsrGraph.from_edges(
        _as_range(names), sources, targets, weights, directed=graph.is_directed(), parallel=True
    )


def read_igraph(graph: Any, weight: str | None) -> CsrGraph:
    """Read a graph of igraph. Its vertices' attribute "name", if there is one, has the names.

    `weight` is the name of the attribute of edges that has the weights, by default "weight", if
    there is one.

    Raises
    ------
    TypeError
        If a weight is not a number.
    ValueError
        If the attribute is missing, if a name is missing or repeated, or if a weight is not valid.
    """
    names: Sequence[Any] = range(graph.vcount())
    if NAME_ATTRIBUTE in graph.vs.attributes():
        names = list(graph.vs[NAME_ATTRIBUTE])
        _check_names(names)
    attributes = graph.es.attributes()
    if weight is not None and weight not in attributes:
        raise ValueError(
            f"the edges of the graph have no attribute {quoted(weight)}; their attributes are: "
            f"{quoted(attributes)}"
        )
    edges = np.array(graph.get_edgelist(), np.int32).reshape(-1, 2)
    weights = None
    if (attribute := weight or WEIGHT_NAME) in attributes:
        ends = [(names[source], names[target]) for source, target in edges.tolist()]
        weights = _read_weights(graph.es[attribute], ends)
    return CsrGraph.from_edges(
        _as_range(names),
        edges[:, 0],
        edges[:, 1],
        weights,
        directed=graph.is_directed(),
        parallel=True,
    )


def _as_range(names: Sequence[Any]) -> Sequence[Any]:
    """Return names as a range if they are the integers 0, 1, 2, ..."""
    are_numbers = all(type(name) is int and name == node for node, name in enumerate(names))
    return range(len(names)) if are_numbers else names


def _check_names(names: Sequence[Any]) -> None:
    """Raise a ValueError if a name is missing or repeated."""
    nodes: dict[Any, int] = {}
    for node, name in enumerate(names):
        if name is None or name == "":
            raise ValueError(
                f"node {node} has no name: set it, or delete the attribute of all nodes, as in: "
                'del graph.vs["name"]'
            )
        if nodes.setdefault(name, node) != node:
            raise ValueError(
                f"nodes {nodes[name]} and {node} have the same name, {quoted(name)}: names must "
                "differ from each other"
            )


def _read_weights(values: Iterable[Any], ends: Sequence[tuple[Any, Any]]) -> NDArray[np.float64]:
    """Return the weights of edges, whose ends have names."""
    weights = np.ones(len(ends))
    for edge, value in enumerate(values):
        try:
            if isinstance(value, str | bytes):
                raise TypeError
            weights[edge] = value
        except (TypeError, ValueError):
            raise TypeError(
                f"edge {quoted(ends[edge])} has the weight {quoted(value)}, which is not a number: "
                "change it"
            ) from None
    if (invalid := find_invalid_weight(weights)) is not None:
        raise ValueError(weight_message(f"edge {quoted(ends[invalid])}", weights[invalid]))
    return weights
