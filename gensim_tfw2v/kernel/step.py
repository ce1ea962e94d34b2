"""One step of a unit: its rows are read, its objective computed, its updates written; its graph."""

from __future__ import annotations

from typing import Any

from gensim_tfw2v._tensorflow import scoped, tf
from gensim_tfw2v.kernel.choices import KernelConfig
from gensim_tfw2v.kernel.noise import counted_negatives
from gensim_tfw2v.kernel.objectives import Gradients, Step, StepPlan
from gensim_tfw2v.kernel.slices import Sent, Slices, exact, small
from gensim_tfw2v.kernel.tables import Tables, add_rows, read_rows
from gensim_tfw2v.kernel.updates import adagrad, clipped, sum_rows
from gensim_tfw2v.kernel.word_arrays import WordArrays


def train_step(
    program: KernelConfig,
    plan: StepPlan,
    unit: Tables,
    tables: Tables,
    words: WordArrays,
    squares: Tables | None = None,
) -> tuple[tf.Tensor, ...]:
    """Train a step of a `PreparedUnit`; arguments as for its `train_steps`.

    It gives what a `UnitResult` sums: loss, predictions and magnitude; and if rows are sliced, the
    traffic of its link.
    """
    link = tables.inputs.link
    ids = _row_ids(plan, unit)
    if link is not None:
        link.begin()
        link.send_together(_integers(plan, ids))
    gradients = _gradients(program, plan, ids, tables, program.loss_of == "all")
    with tf.name_scope("sum_rows"):
        sums = {
            name: sum_rows(getattr(plan, name), parts) for name, parts in gradients.updates.items()
        }
    moved = _update(program, plan, ids, sums, tables, words, squares)
    result = gradients.loss, gradients.predictions, moved
    return result if link is None else (*result, link.traffic())


def step_loss(
    program: KernelConfig, plan: StepPlan, unit: Tables, tables: Tables
) -> tuple[tf.Tensor, tf.Tensor]:
    """The loss of a step as its rows are, and of how many predictions it is."""
    if tables.inputs.link is not None:
        tables.inputs.link.begin()
    gradients = _gradients(program, plan, _row_ids(plan, unit), tables, True)
    return gradients.loss, gradients.predictions


@scoped("row_ids")
def _row_ids(plan: StepPlan, unit: Tables) -> dict[str, tf.Tensor]:
    """The distinct ids [U] of a step's rows, by the name of each table in use."""
    return {
        name: getattr(plan, name).distinct.of(ids)
        for name, ids in unit._asdict().items()
        if ids is not None
    }


def _integers(plan: StepPlan, ids: dict[str, tf.Tensor]) -> list[Sent]:
    """Integers that slices need about a step's rows."""
    needed = [exact(of_table) for of_table in ids.values()]
    for name in ids:
        groups = getattr(plan, name)
        needed += map(small, (groups.inverse, groups.rank, groups.segment))
    return needed


def _gradients(
    program: KernelConfig,
    plan: StepPlan,
    ids: dict[str, tf.Tensor],
    tables: Tables,
    with_loss: bool,
) -> Gradients:
    """Read the rows of a step, and compute its objective."""
    with tf.name_scope("read_rows"):
        rows = {name: getattr(tables, name).read(of_table) for name, of_table in ids.items()}
    selects = "outputs" in ids and program.selects_negatives
    noise = _noise(program, plan.words) if selects else None
    dtype = tf.as_dtype(program.product_dtype)
    with tf.name_scope(type(program.objective).__name__):
        return program.objective(Step(program.shape, dtype, plan, rows, noise), with_loss)


@scoped("negatives")
def _noise(program: KernelConfig, columns: tf.Tensor) -> tf.Tensor | None:
    """Weights of negatives for each centre: [T/B, C - O, O]."""
    centres, negatives = tf.split(columns, [program.shape.centres, program.shape.shared], axis=1)
    return counted_negatives(centres, negatives, program.skip_targets, program.negative_shards)


@scoped("update")
def _update(
    program: KernelConfig,
    plan: StepPlan,
    ids: dict[str, tf.Tensor],
    sums: dict[str, Slices],
    tables: Tables,
    words: WordArrays,
    squares: Tables | None,
) -> tf.Tensor:
    """Update the tables; give the summed lengths of the updates before clipping."""
    moved = tf.constant(0.0)
    for name, of_table in sums.items():
        with tf.name_scope(name):
            rows, sizes = ids[name], plan.alpha
            if squares is not None:
                so_far = getattr(squares, name)
                sizes, growth = adagrad(of_table, read_rows(so_far, rows), plan.alpha)
                add_rows(so_far, rows, growth)
            changes, magnitude = clipped(of_table, sizes, program.max_norm)
            locked = program.locked and name == "inputs"
            getattr(tables, name).add(rows, changes, words.lock if locked else None)
            moved += magnitude
    return moved


#: The name scope of a step's ops.
SCOPE = "step"


def step_graph(function: Any) -> bytes | None:
    """The graph of a step, a serialized ``GraphDef``, out of a traced function that trains units.

    Its ops are those in `SCOPE`, named within it, of the innermost of the function's loops, which
    may be one of jobs and one of steps; or outside of any loop, where kernels train. None if there
    are none.
    """
    graph = _innermost(function.graph)
    if graph is None:
        return None
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


def _innermost(graph: Any) -> Any:
    """The innermost loop's graph that has ops of a step, or the graph itself; None if none has."""
    operations = graph.get_operations()
    for op in operations:
        if op.type in ("While", "StatelessWhile"):
            inner = _innermost(graph._get_function(op.get_attr("body").name).graph)
            if inner is not None:
                return inner
    return graph if any(f"{SCOPE}/" in op.name for op in operations) else None


def _renamed(given: str, names: dict[str, str]) -> str:
    """An op's input, ``^name``, ``name`` or ``name:number``, by its new name; empty without one."""
    control, name = given[: given.startswith("^")], given.lstrip("^")
    name, colon, number = name.partition(":")
    return f"{control}{names[name]}{colon}{number}" if name in names else ""
