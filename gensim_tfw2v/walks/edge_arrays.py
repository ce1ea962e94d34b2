"""Readers of edges in arrays ``[2, E]``: of NumPy, tensors, and PyTorch Geometric's data."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gensim_tfw2v.messages import quoted
from gensim_tfw2v.walks.array_values import as_array
from gensim_tfw2v.walks.csr_graph import MAX_NODES, CsrGraph
from gensim_tfw2v.walks.relations import read_relation_array

#: Attribute of PyTorch Geometric's data with the weights of edges.
WEIGHT_ATTRIBUTE = "edge_weight"


def read_edge_index(
    edge_index: Any,
    weights: Any,
    relation: Any,
    directed: bool,
    n_nodes: int | None = None,
) -> CsrGraph:
    """Read an array of shape [2, E]: the numbers of the nodes at both ends of each edge.

    Parameters
    ----------
    edge_index : array or tensor of integers [2, E]
    weights : array or tensor [E], optional
    relation : array or tensor of integers or strings [E], optional
        Name of the relation of each edge.
    directed : bool
    n_nodes : int, optional
        Number of nodes; by default the greatest number in the array plus 1.

    Raises
    ------
    TypeError
        If an array has a wrong type.
    ValueError
        If an array has a wrong shape, or a number is not that of a node.
    """
    edges = as_array("edge_index", edge_index, 2, "iu")
    if edges.shape[0] != 2:
        advice = "; pass the transposed array" if edges.shape[1] == 2 else ""
        raise ValueError(
            f"edge_index must have the shape [2, edges], but has the shape {edges.shape}{advice}"
        )
    if not edges.size:
        raise ValueError("the graph has no edges: edge_index is empty")
    values = None if weights is None else _read_weights(weights, edges.shape[1])
    if edges.min() < 0:
        edge = int(np.argmax((edges < 0).any(0)))
        raise ValueError(
            f"edge_index[:, {edge}] is {edges[:, edge].tolist()}, but nodes are numbered from 0"
        )
    n_nodes = int(edges.max()) + 1 if n_nodes is None else n_nodes
    if n_nodes > MAX_NODES:
        raise ValueError(
            f"the greatest number in edge_index is {edges.max():,}, but a graph has at most "
            f"{MAX_NODES:,} nodes: number the nodes without gaps"
        )
    relations = None if relation is None else read_relation_array(relation, edges.shape[1])
    return CsrGraph.from_edges(
        range(n_nodes), edges[0], edges[1], values, relations, directed=directed
    )


def read_geometric_data(
    data: Any, weight: str | None, relation: str | None, directed: bool
) -> CsrGraph:
    """Read PyTorch Geometric's ``Data``: its edge_index, edge_weight and num_nodes.

    `weight` is the name of the attribute that has the weights, by default "edge_weight", if the
    data have it, and `relation` that of the attribute that has the relations.

    Raises
    ------
    ValueError
        If an attribute is missing, or if the edges are not valid.
    """
    weights = getattr(data, weight or WEIGHT_ATTRIBUTE, None)
    if weights is None and weight is not None:
        raise ValueError(
            f"the data have no attribute {quoted(weight)}: add it, or leave out weight"
        )
    relations = None if relation is None else getattr(data, relation, None)
    if relations is None and relation is not None:
        raise ValueError(
            f"the data have no attribute {quoted(relation)}: add it, or leave out relation"
        )
    n_nodes = getattr(data, "num_nodes", None)
    return read_edge_index(data.edge_index, weights, relations, directed, n_nodes)


def _read_weights(weights: Any, n_edges: int) -> NDArray[Any]:
    """Return the weights of edges, one for each."""
    values = as_array("weight", weights, 1, "biuf")
    if len(values) != n_edges:
        raise ValueError(
            f"weight has {len(values):,} elements, but edge_index has {n_edges:,} edges"
        )
    return values
