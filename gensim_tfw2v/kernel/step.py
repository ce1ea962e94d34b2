"""One step of a unit: its rows are read, its objective computed, its updates written; its graph."""

from __future__ import annotations

from typing import Any

from gensim_tfw2v._tensorflow import scoped, tf
from gensim_tfw2v.kernel.config import KernelConfig
from gensim_tfw2v.kernel.noise import counted_negatives
from gensim_tfw2v.kernel.objectives import Gradients, Step
from gensim_tfw2v.kernel.plan import StepPlan
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
    """Train a step.

    Parameters
    ----------
    program : KernelConfig
    plan, unit
        Of the step, and the ids of its unit: see `plan_unit`.
    tables : Tables of WholeRows or SlicedRows
        Updated in place.
    words : WordArrays
    squares : Tables of Tensor [], resource, optional
        Handles of variables [V, 1] that Adagrad sums in, if the program asks for it.

    Returns
    -------
    loss, predictions, magnitude : Tensor [], float32
        What a `UnitResult` sums.
    traffic : Tensor [2], float32
        If rows are sliced: see `Link.traffic`.
    """
    link = tables.inputs.link
    ids = _row_ids(plan, unit)
    if link is not None:
        link.begin()
        link.send_together(_integers(plan, ids))
    step = _read(program, plan, ids, tables)
    gradients = _gradients(program, step, program.loss_of == "all")
    moved = _update(program, plan, ids, _sums(plan, ids, gradients), tables, words, squares)
    result = gradients.loss, gradients.predictions, moved
    return result if link is None else (*result, link.traffic())


def step_loss(
    program: KernelConfig, plan: StepPlan, unit: Tables, tables: Tables
) -> tuple[tf.Tensor, tf.Tensor]:
    """The loss of a step as its rows are, and of how many predictions; as for `train_step`."""
    if tables.inputs.link is not None:
        tables.inputs.link.begin()
    step = _read(program, plan, _row_ids(plan, unit), tables)
    gradients = _gradients(program, step, True)
    return gradients.loss, gradients.predictions


def _gradients(program: KernelConfig, step: Step, with_loss: bool) -> Gradients:
    with tf.name_scope(type(program.objective).__name__):
        return program.objective(step, with_loss)


@scoped("sum_rows")
def _sums(plan: StepPlan, ids: Tables, gradients: Gradients) -> dict[str, Slices]:
    """Summed updates of the distinct rows of each table in use, by its name."""
    updates = Tables([gradients.inputs], gradients.outputs, gradients.nodes)
    return {
        name: sum_rows(getattr(plan, name), getattr(updates, name))
        for name, rows in ids._asdict().items()
        if rows is not None
    }


@scoped("update")
def _update(
    program: KernelConfig,
    plan: StepPlan,
    ids: Tables,
    sums: dict[str, Slices],
    tables: Tables,
    words: WordArrays,
    squares: Tables | None,
) -> tf.Tensor:
    """Update the tables; give the summed lengths of the updates before clipping."""
    moved = tf.constant(0.0)
    for name, of_table in sums.items():
        with tf.name_scope(name):
            rows, sizes = getattr(ids, name), plan.alpha
            if squares is not None:
                so_far = getattr(squares, name)
                sizes, growth = adagrad(of_table, read_rows(so_far, rows), plan.alpha)
                add_rows(so_far, rows, growth)
            changes, magnitude = clipped(of_table, sizes, program.max_norm)
            locked = program.locked and name == "inputs"
            getattr(tables, name).add(rows, changes, words.lock if locked else None)
            moved += magnitude
    return moved


@scoped("row_ids")
def _row_ids(plan: StepPlan, unit: Tables) -> Tables:
    """The distinct rows of a step; None of a table without use."""
    return Tables(
        *(
            None if ids is None else getattr(plan, name).distinct.of(ids)
            for name, ids in unit._asdict().items()
        )
    )


def _integers(plan: StepPlan, ids: Tables) -> list[Sent]:
    """What slices need to know of a step's rows."""
    needed = [exact(of_table) for of_table in ids if of_table is not None]
    for groups in (plan.inputs, plan.outputs, plan.nodes):
        if groups:
            needed += map(small, (groups.place, groups.rank, groups.segment))
    return needed


def _read(program: KernelConfig, plan: StepPlan, ids: Tables, tables: Tables) -> Step:
    """Read what a step is computed from."""
    selects = ids.outputs is not None and program.selects_negatives
    with tf.name_scope("read_rows"):
        rows = Tables(
            *(
                None if of_table is None else getattr(tables, name).read(of_table)
                for name, of_table in ids._asdict().items()
            )
        )
    return Step(
        program.shape,
        input_place=plan.inputs.place,
        windows=plan.windows,
        dtype=tf.as_dtype(program.product_dtype),
        output_place=plan.outputs.place if plan.outputs else None,
        noise=_noise(program, plan.words) if selects else None,
        node_place=plan.nodes.place if plan.nodes else None,
        signs=plan.signs,
        **rows._asdict(),
    )


@scoped("negatives")
def _noise(program: KernelConfig, columns: tf.Tensor) -> tf.Tensor | None:
    """How often negatives count for each centre: [T/B, C - O, O]."""
    centres, negatives = tf.split(columns, [program.shape.centres, program.shape.shared], axis=1)
    return counted_negatives(centres, negatives, program.skip_targets, program.negative_shards)


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
