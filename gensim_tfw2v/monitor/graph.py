"""The graph of a training step, or of a unit that kernels train."""

from typing import Any

#: The name scope of a step's ops.
SCOPE = "step"


def step_graph(function: Any) -> bytes | None:
    """The graph of a step, out of a traced function that trains a unit.

    Parameters
    ----------
    function : ConcreteFunction
        Whose steps are in the innermost of its loops, which may be one of jobs and one of steps; or
        that runs kernels, outside of any loop.

    Returns
    -------
    bytes or None
        A serialized ``GraphDef`` of the ops in `SCOPE`, named within it: TensorBoard shows the
        scopes in there as boxes. None if there are none.
    """
    graph = function.graph
    while not any(f"{SCOPE}/" in op.name for op in graph.get_operations()):
        loops = [op for op in graph.get_operations() if op.type in ("While", "StatelessWhile")]
        if not loops:
            return None
        graph = graph._get_function(loops[0].get_attr("body").name).graph
    whole = graph.as_graph_def(add_shapes=True)
    names = {}
    for node in whole.node:
        _, inside, name = node.name.partition(f"{SCOPE}/")
        if inside:
            names[node.name] = name
    step = type(whole)(versions=whole.versions)
    for node in whole.node:
        if node.name not in names:
            continue
        kept = step.node.add()
        kept.CopyFrom(node)
        kept.name = names[node.name]
        kept.attr.pop("_class", None)  # names other ops
        kept.input[:] = [new for given in node.input if (new := _renamed(given, names))]
    return bytes(step.SerializeToString())


def _renamed(given: str, names: dict[str, str]) -> str:
    """An op's input, ``^name``, ``name`` or ``name:number``, by its new name; empty without one."""
    control, name = given[: given.startswith("^")], given.lstrip("^")
    name, colon, number = name.partition(":")
    return f"{control}{names[name]}{colon}{number}" if name in names else ""
