"""One call of `train` by sub-models: all their epochs, and merging them into the model."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.files.mapped import save_array
from gensim_tfw2v.kernel.task import UnitReport, UnitTask
from gensim_tfw2v.merging import MergeReport, SubModel, merge
from gensim_tfw2v.regimes.options import SubModels
from gensim_tfw2v.regimes.sub_model_plan import SubModelPlan, file_of
from gensim_tfw2v.training.checkpoints import Checkpoints, check_array
from gensim_tfw2v.training.session import Training
from gensim_tfw2v.training.vocabulary import seed_of, tables_of

logger = logging.getLogger(__name__)

#: Share of alpha that sub-models' step sizes end with, before they are scaled.
LEFT = 0.1


def train_sub_models(
    model: Any,
    training: Training,
    options: SubModels,
    epochs: Sequence[Sequence[UnitTask]],
    report: Callable[[UnitReport], None],
) -> MergeReport:
    """Train all sub-models through all epochs, and put the merged vectors into the model.

    A sub-model has fewer steps than one model has, and of what is noise in it merging takes a part
    away. So its steps are larger, and end larger: see `step_sizes`.

    Parameters
    ----------
    model : TFWord2Vec
    training : Training
    options : SubModels
    epochs : sequence of sequence of UnitTask
        With the step sizes of one model.
    report : callable
        Called after each unit of a sub-model, from any thread.

    Returns
    -------
    MergeReport
    """
    plan = SubModelPlan(
        options.samples(training.seed),
        [
            [
                task._replace(alphas=step_sizes(task.alphas, model.alpha, options.models))
                for task in tasks
            ]
            for tasks in epochs
        ],
    )
    folder, kept = training.workspace.folder, _Kept(model, training, options)
    done = {number for number in range(options.models) if kept.restore(number, folder)}

    def finished(number: int) -> None:
        done.add(number)
        logger.info("sub-model %i of %i is trained", number + 1, options.models)
        kept.save(number, folder)

    while True:
        training.load()
        regime: Any = training.regime  # of sub-models, here or at a coordinator
        try:
            which = [number for number in range(options.models) if number not in done]
            regime.train_models(which, plan, report, finished)
            break
        except ClusterLost as lost:
            training.reopen(lost)
    kept.wait()
    return _merge(model, options, folder)


def step_sizes(of_one: tuple[float, float], alpha: float, models: int) -> tuple[float, float]:
    """Step sizes of a sub-model at the beginning and at the end of a unit.

    They are larger than those of one model by N ** (2/3), and fall by nine tenths of what those
    fall: merging averages the noise that is left, as averaging along the way does (Izmailov et al.
    2018, "Averaging Weights Leads to Wider Optima and Better Generalization"). See "Step sizes" in
    docs/regimes/sub-models.md.

    Parameters
    ----------
    of_one : (float, float)
        Those of one model.
    alpha : float
        What one model begins with.
    models : int
        N.
    """
    begin, end = (
        models ** (2 / 3) * (LEFT * alpha + (1 - LEFT) * size) if models > 1 else size
        for size in of_one
    )
    return begin, end


class _Kept:
    """Checkpoints of sub-models that are done, if the model has a folder for checkpoints."""

    def __init__(self, model: Any, training: Training, options: SubModels) -> None:
        self._folder = training.config.checkpoint_dir
        self._shapes = {
            name: table.shape for name, table in tables_of(model)._asdict().items() if len(table)
        }
        # not how they are merged: that may be chosen anew
        self._description = training.description | {
            "sub-models": f"{options.models} by {options.sampling}, rate {options.rate}"
        }
        self._writing: list[Checkpoints] = []

    def _of(self, folder: Path, number: int) -> Checkpoints:
        return Checkpoints(
            folder / f"sub-model-{number:03}", self._description | {"number": number}
        )

    def _checked(self, arrays: dict[str, np.ndarray], state: Any) -> dict[str, np.ndarray]:
        if set(arrays) != {*self._shapes, "seen"}:
            raise ValueError(f"it holds {sorted(arrays)}")
        for name, shape in self._shapes.items():
            check_array(name, arrays[name], shape, [np.dtype(np.float32)])
        check_array("seen", arrays["seen"], self._shapes["inputs"][:1], [np.dtype(np.int64)])
        return arrays

    def restore(self, number: int, folder: Path) -> bool:
        """Write the files of a sub-model that was done before; whether there was one."""
        if self._folder is None:
            return False
        if (found := self._of(self._folder, number).latest(self._checked)) is None:
            return False
        for name, array in found.items():
            save_array(file_of(folder, number, name), array)
        logger.info("sub-model %i was trained before", number + 1)
        return True

    def save(self, number: int, folder: Path) -> None:
        """Keep a sub-model's files."""
        if self._folder is not None:
            checkpoints = self._of(self._folder, number)
            checkpoints.save(_arrays(folder, number), {})
            self._writing.append(checkpoints)

    def wait(self) -> None:
        """Wait until all is on the disk."""
        for checkpoints in self._writing:
            checkpoints.wait()


def _arrays(folder: Path, number: int) -> dict[str, np.ndarray]:
    """A sub-model's files, mapped into memory; tables without use have none."""
    paths = {name: file_of(folder, number, name) for name in ("inputs", "outputs", "nodes", "seen")}
    return {name: np.load(path, "r") for name, path in paths.items() if path.exists()}


def _merge(model: Any, options: SubModels, folder: Path) -> MergeReport:
    """Merge the sub-models in the files into the model's arrays."""
    sub_models = []
    for number in range(options.models):
        arrays = _arrays(folder, number)
        words = np.flatnonzero(arrays["seen"])
        if len(words):
            sub_models.append(
                SubModel(words, arrays["inputs"], arrays.get("outputs"), arrays.get("nodes"))
            )
    merged = merge(sub_models, len(model.wv), options.merging, seed=seed_of(model))
    before = tables_of(model)
    unseen = np.flatnonzero(merged.held == 0)
    if merged.inputs.shape[1] == model.vector_size:
        merged.inputs[unseen] = before.inputs[unseen]
    model.wv.vectors = merged.inputs
    model.vector_size = model.layer1_size = model.wv.vector_size = merged.inputs.shape[1]
    if merged.outputs is not None:
        model.syn1neg = merged.outputs
    if merged.nodes is not None:
        model.syn1 = merged.nodes
    model.wv.norms = None
    report = merged.report(model.wv.index_to_key)
    logger.info("%s", report)
    return report
