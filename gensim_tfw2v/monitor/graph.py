"""The graph of a training step."""

from typing import Any


def step_graph(function: Any) -> Any:
    """The graph of a step, out of a traced function that trains a unit.

    Parameters
    ----------
    function : ConcreteFunction
        Whose steps are the innermost of its loops, which may be one of jobs and one of steps.

    Returns
    -------
    tf.Graph or None
        None if there is no loop in it.
    """
    graph, body = function.graph, None
    while loops := [op for op in graph.get_operations() if op.type in ("While", "StatelessWhile")]:
        graph = body = graph._get_function(loops[0].get_attr("body").name).graph
    return body
