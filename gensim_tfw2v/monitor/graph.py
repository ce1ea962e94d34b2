"""The graph of a training step."""

from typing import Any


def step_graph(function: Any) -> Any:
    """The graph of a step, out of a traced function that trains a unit.

    Parameters
    ----------
    function : ConcreteFunction
        Whose steps are the body of its ``tf.while_loop``.

    Returns
    -------
    tf.Graph or None
        None if there is no loop in it.
    """
    for operation in function.graph.get_operations():
        if operation.type in ("While", "StatelessWhile"):
            body = operation.get_attr("body").name
            return function.graph._get_function(body).graph
    return None
