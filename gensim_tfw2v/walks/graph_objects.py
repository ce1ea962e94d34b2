"""Readers of the graphs of networkx and igraph, which say themselves whether they are directed."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.edge_columns import WEIGHT_NAME
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.walks.csr_graph import (
    CsrGraph,
    Relations,
    find_invalid_weight,
    weight_message,
)
from gensim_tfw2v.walks.relations import number_relations

#: Attribute of igraph's vertices that has their names.
NAME_ATTRIBUTE = "name"


def is_networkx(graph: Any) -> bool:
    """Return whether a graph is one of networkx."""
    return hasattr(graph, "is_multigraph") and hasattr(graph, "edges")


def is_igraph(graph: Any) -> bool:
    """Return whether a graph is one of igraph."""
    return hasattr(graph, "get_edgelist") and hasattr(graph, "vcount")


def read_node_attribute(graph: Any, attribute: str) -> list[Any]:
    """Return an attribute of each node of a graph of networkx or igraph.

    Nodes of networkx without the attribute have None.

    Raises
    ------
    ValueError
        If no node has the attribute.
    """
    if is_networkx(graph):
        values = [value for _, value in graph.nodes(data=attribute, default=None)]
        has_attribute = any(value is not None for value in values)
    else:
        has_attribute = attribute in graph.vs.attributes()
        values = list(graph.vs[attribute]) if has_attribute else []
    if not has_attribute:
        raise ValueError(f"no node of the graph has the attribute {quoted(attribute)}: add it")
    return values


def read_networkx(graph: Any, weight: str | None, relation: str | None) -> CsrGraph:
    """Read a graph of networkx. The edges of a multigraph stay parallel.

    `weight` is the name of the attribute of edges that has the weights, by default "weight", if
    there is one. An edge without it has the weight 1, as in networkx. `relation` is the name of the
    attribute that has the relations.

    Raises
    ------
    TypeError
        If a weight is not a number.
    ValueError
        If no edge has the attribute, if an edge has no relation, or if a weight is not valid.
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
    ends = []
    if has_weights or relation is not None:
        ends = [(names[source], names[target]) for source, target, _ in edges]
    weights = None
    if has_weights:
        weights = _read_weights((1 if value is None else value for value in values), ends)
    relations = None
    if relation is not None:
        relation_edges = graph.edges(data=relation, default=None)
        relations = _read_relations([name for _, _, name in relation_edges], relation, ends)
    return CsrGraph.from_edges(
        _as_range(names),
        sources,
        targets,
        weights,
        relations,
        directed=graph.is_directed(),
        parallel=True,
    )


def read_igraph(graph: Any, weight: str | None, relation: str | None) -> CsrGraph:
    """Read a graph of igraph. Its vertices' attribute "name", if there is one, has the names.

    `weight` is the name of the attribute of edges that has the weights, by default "weight", if
    there is one, and `relation` that of the attribute that has the relations.

    Raises
    ------
    TypeError
        If a weight is not a number.
    ValueError
        If an attribute is missing, if a name or a relation is missing, if a name is repeated, or if
        a weight is not valid.
    """
    names: Sequence[Any] = range(graph.vcount())
    if NAME_ATTRIBUTE in graph.vs.attributes():
        names = list(graph.vs[NAME_ATTRIBUTE])
        _check_names(names)
    attributes = graph.es.attributes()
    for attribute in (weight, relation):
        if attribute is not None and attribute not in attributes:
            raise ValueError(
                f"the edges of the graph have no attribute {quoted(attribute)}; their attributes "
                f"are: {quoted(attributes)}"
            )
    edges = np.array(graph.get_edgelist(), np.int32).reshape(-1, 2)
    weight_attribute = weight or WEIGHT_NAME
    ends = []
    if weight_attribute in attributes or relation is not None:
        ends = [(names[source], names[target]) for source, target in edges.tolist()]
    weights = None
    if weight_attribute in attributes:
        weights = _read_weights(graph.es[weight_attribute], ends)
    relations = None
    if relation is not None:
        relations = _read_relations(graph.es[relation], relation, ends)
    return CsrGraph.from_edges(
        _as_range(names),
        edges[:, 0],
        edges[:, 1],
        weights,
        relations,
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


def _read_relations(
    values: Sequence[Any], attribute: str, ends: Sequence[tuple[Any, Any]]
) -> Relations:
    """Return the relations of edges, whose ends have names."""
    if None in values:
        raise ValueError(
            f"edge {quoted(ends[list(values).index(None)])} lacks the attribute "
            f"{quoted(attribute)}, the name of its relation: add it"
        )
    return number_relations(values)


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
