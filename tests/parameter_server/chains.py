"""Chains of operations that TensorFlow runs one after another."""


def chained(function, op):
    """Return the operations of type `op` in a traced function that wait for another one of them.

    `function` is a ``ConcreteFunction``. Operations in branches of conditions and in bodies of
    loops count, too, if they wait for an operation in the same branch or body.
    """
    graph = function.graph.as_graph_def()
    found = []
    n_checked = 0
    for nodes in [graph.node, *(inner.node_def for inner in graph.library.function)]:
        names = [node.name for node in nodes if node.op == op]
        inputs = {
            node.name: [name.lstrip("^").partition(":")[0] for name in node.input] for node in nodes
        }
        found += [name for name in names if _ancestors(inputs, name).intersection(names)]
        n_checked = max(n_checked, len(names))
    assert n_checked > 1, f"only one operation {op}"
    return found


def _ancestors(inputs, name):
    found, unvisited = set(), [name]
    while unvisited:
        new = set(inputs.get(unvisited.pop(), ())) - found
        found |= new
        unvisited += new
    return found
