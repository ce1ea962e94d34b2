"""One step of a unit: its rows are read, its objective computed, its updates written."""

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.grouping import EntryGroups
from gensim_tfw2v.objectives import Gradients, Step
from gensim_tfw2v.objectives.hierarchical_softmax import TreeGradients, TreeStep
from gensim_tfw2v.objectives.noise import counted_negatives
from gensim_tfw2v.objectives.words import Words
from gensim_tfw2v.options import UnitProgram
from gensim_tfw2v.regimes.plan import StepPlan, TreePlan, UnitPlan
from gensim_tfw2v.regimes.tables import Tables
from gensim_tfw2v.scopes import scoped
from gensim_tfw2v.slices import Sent, Slices, exactly, places
from gensim_tfw2v.updates import adagrad, add_rows, clipped, read_rows, sum_entries, sum_rows


def train_step(
    program: UnitProgram,
    plan: StepPlan,
    unit: UnitPlan,
    tables: Tables,
    words: Words,
    squares: Tables | None = None,
) -> tuple[tf.Tensor, ...]:
    """Train a step.

    Parameters
    ----------
    program : UnitProgram
    plan, unit
        Of the step and of its unit.
    tables : Tables of WholeRows or SlicedRows
        Updated in place.
    words : Words
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
    step = _read(program, plan, unit, ids, tables, words)
    if squares is not None and step.tree is not None:
        of_top = read_rows(squares.nodes, words.tree.top)
        step = step._replace(tree=step.tree._replace(squares=of_top))
    gradients = _gradients(program, step, program.loss_of == "all")
    sums = _sums(plan, unit, ids, gradients)
    moved = _update(program, plan, ids, sums, gradients.tree, tables, words, squares)
    result = gradients.loss, gradients.predictions, moved
    return result if link is None else (*result, link.traffic())


def step_loss(
    program: UnitProgram, plan: StepPlan, unit: UnitPlan, tables: Tables, words: Words
) -> tuple[tf.Tensor, tf.Tensor]:
    """The loss of a step as its rows are, and of how many predictions; as for `train_step`."""
    if tables.inputs.link is not None:
        tables.inputs.link.begin()
    step = _read(program, plan, unit, _row_ids(plan, unit), tables, words)
    gradients = _gradients(program, step, True)
    return gradients.loss, gradients.predictions


def _gradients(program: UnitProgram, step: Step, with_loss: bool) -> Gradients:
    with tf.name_scope(type(program.objective).__name__):
        return program.objective(step, with_loss)


@scoped("sum_rows")
def _sums(plan: StepPlan, unit: UnitPlan, ids: Tables, gradients: Gradients) -> dict[str, Slices]:
    """Summed updates of the distinct rows of each table in use, by its name."""
    sums = {"inputs": sum_rows(plan.inputs, [gradients.inputs])}
    if ids.outputs is not None:
        sums["outputs"] = sum_rows(plan.outputs, gradients.outputs)
    if gradients.tree is not None:
        groups = EntryGroups(
            plan.tree.entries.of(unit.slot), plan.tree.entries.of(unit.segment), plan.tree.distinct
        )
        sums["nodes"] = sum_entries(groups, gradients.tree.deep)
    return sums


@scoped("update")
def _update(
    program: UnitProgram,
    plan: StepPlan,
    ids: Tables,
    sums: dict[str, Slices],
    tree: TreeGradients | None,
    tables: Tables,
    words: Words,
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
    if tree is not None:
        with tf.name_scope("top"):
            if squares is not None:
                add_rows(squares.nodes, words.tree.top, tree.growth)
            tables.nodes.add(words.tree.top, tree.top)
            moved += tree.top.total(lambda x: tf.reduce_sum(tf.abs(x)), exact=True)
    return moved


@scoped("row_ids")
def _row_ids(plan: StepPlan, unit: UnitPlan) -> Tables:
    """The distinct rows of a step; None of a table without use."""
    return Tables(
        plan.inputs.distinct.of(unit.inputs),
        plan.outputs.distinct.of(unit.outputs) if plan.outputs else None,
        plan.tree.distinct.of(unit.nodes) if plan.tree else None,
    )


def _integers(plan: StepPlan, ids: Tables) -> list[Sent]:
    """What slices need to know of a step's rows."""
    needed = [exactly(of_table) for of_table in ids if of_table is not None]
    for groups in (plan.inputs, plan.outputs):
        if groups:
            needed += map(places, (groups.place, groups.rank, groups.segment))
    return needed


def _read(
    program: UnitProgram,
    plan: StepPlan,
    unit: UnitPlan,
    ids: Tables,
    tables: Tables,
    words: Words,
) -> Step:
    """Read what a step is computed from."""
    noise = None
    if ids.outputs is not None and program.selects_negatives:
        noise = _noise(program, plan.words)
    with tf.name_scope("read_rows"):
        step = Step(
            program.shape,
            inputs=tables.inputs.read(ids.inputs),
            input_place=plan.inputs.place,
            windows=plan.windows,
            dtype=tf.as_dtype(program.product_dtype),
        )
        if ids.outputs is not None:
            step = step._replace(
                outputs=tables.outputs.read(ids.outputs),
                output_place=plan.outputs.place,
                noise=noise,
            )
        if ids.nodes is not None:
            step = step._replace(tree=_tree_step(program, plan, unit, ids.nodes, tables, words))
    return step


def _tree_step(
    program: UnitProgram,
    plan: StepPlan,
    unit: UnitPlan,
    node_ids: tf.Tensor,
    tables: Tables,
    words: Words,
) -> TreeStep:
    tree: TreePlan = plan.tree
    own_order = program.objective.tree_block is not None
    blocks = program.shape.tokens // program.tree_block if own_order else program.shape.blocks
    return TreeStep(
        top=tables.nodes.read(words.tree.top),
        signs=words.tree.signs,
        leaves=tree.leaves,
        deep=tables.nodes.read(node_ids),
        columns=tf.reshape(tree.slots.of(unit.columns), [blocks, -1]),
        sources=tf.reshape(tree.slots.of(unit.sources), [blocks, -1]),
        alpha=plan.alpha,
        max_norm=program.max_norm,
        order=tree.order if own_order else None,
        place=tree.place if own_order else None,
    )


@scoped("negatives")
def _noise(program: UnitProgram, columns: tf.Tensor) -> tf.Tensor | None:
    """How often negatives count for each centre: [T/B, C - O, O]."""
    centres, negatives = tf.split(columns, [program.shape.centres, program.shape.shared], axis=1)
    return counted_negatives(centres, negatives, program.skip_targets, program.negative_shards)
