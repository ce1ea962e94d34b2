"""One call of `train` with sub-models: all epochs of each, then merging into the model."""

import copy
import functools
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.files.mapped import save_array
from gensim_tfw2v.kernel.tables import Reporter, Tables, UnitReport, UnitTask
from gensim_tfw2v.merging import SUBWORDS, SubModel, merge
from gensim_tfw2v.options.regimes import SubModels
from gensim_tfw2v.parameter_server.sub_model import SubModelDone, SubModelTask, file_of
from gensim_tfw2v.processes.threads import defer_interrupts
from gensim_tfw2v.training.checkpoints import Checkpoints
from gensim_tfw2v.training.epoch import EpochLog, Expected
from gensim_tfw2v.training.model_arrays import renew_norms
from gensim_tfw2v.training.model_checks import settings_of
from gensim_tfw2v.training.session import Training
from gensim_tfw2v.training.vocabulary import seed_of
from gensim_tfw2v.training.weights import Weights
from gensim_tfw2v.weight_tables import OUTPUT_LAYER

logger = logging.getLogger(__name__)

#: Final learning rate of sub-models as a fraction of alpha, before it is scaled.
FINAL_SHARE = 0.1


class SubModelTraining(Training):
    """Training of all sub-models through all epochs; the model gets the merged vectors.

    A sub-model has fewer updates than a single model, and merging removes a part of its noise. So
    its learning rates are larger, above all at the end; see `sub_model_alphas`.
    """

    def __init__(self, model: Any, *args: Any) -> None:
        super().__init__(model, *args)
        assert isinstance(self.config.regime, SubModels)
        self._options = self.config.regime
        self._trained_indices: set[int] = set()  # indices of the trained sub-models

    def train_epoch(self, epoch: int, expected: Expected) -> tuple[int, int, int]:
        """Train all epochs in the first call; return the counts of one epoch."""
        if epoch < self.position.epoch:
            return super().train_epoch(epoch, expected)
        model = self._model
        n_epochs = model.epochs
        epoch_tasks = [self._tasks(epoch_index, expected) for epoch_index in range(n_epochs)]
        log = EpochLog(model, epoch, expected, self.position.trained, n_epochs)
        while True:
            try:
                self._train_models(epoch_tasks, functools.partial(self.count, log))
                break
            except ClusterLost as loss:
                self._reopen(loss)  # finished sub-models are kept
        # Merging has changed some settings. Callbacks can change none any more, because all epochs
        # have been trained.
        self._settings = settings_of(model)
        self._fixed_options = set(self._settings)
        return self._end_epochs(n_epochs, log)

    def _train_models(self, epoch_tasks: Sequence[Sequence[UnitTask]], report: Reporter) -> None:
        """Restore sub-models that have a checkpoint, train the remaining ones, and merge all."""
        self.regime.load(self.weights.load())
        options = self._options
        folder = self.corpus.folder
        alpha = self._model.alpha
        n_models = options.models
        scaled_tasks = [
            [task._replace(alphas=sub_model_alphas(task.alphas, alpha, n_models)) for task in tasks]
            for tasks in epoch_tasks
        ]
        self._trained_indices.update(
            index
            for index in range(n_models)
            if index not in self._trained_indices and self._restore(index)
        )
        pending_checkpoints: list[Checkpoints] = []

        def handle_result(result: UnitReport | SubModelDone) -> None:
            if isinstance(result, UnitReport):
                report(result)
                return
            (index,) = result
            self._trained_indices.add(index)
            self._cluster_losses = None  # the limit is on losses without progress
            logger.info("sub-model %i of %i is trained", index + 1, n_models)
            if (checkpoints := self._checkpoints_of(index)) is not None:
                checkpoints.save(_map_arrays(folder, index), {}, is_last=True)
                pending_checkpoints.append(checkpoints)

        regime: Any = self.regime  # typed as Any, because its tasks are sub-models, not units
        samples = options.samples(self.seed)
        while remaining := sorted({*range(n_models)} - self._trained_indices):
            self.weights.regime_is_ahead = True
            # A signal stops the workers after their running jobs; see `Training._train`.
            with defer_interrupts() as signals:
                try:
                    tasks = [SubModelTask(index, samples, scaled_tasks) for index in remaining]
                    regime.train_epoch(tasks, handle_result, lambda: bool(signals))
                    has_stopped = bool(signals)
                finally:
                    for checkpoints in pending_checkpoints:
                        checkpoints.wait()
            if self._trained_indices.issuperset(remaining):
                break
            if not has_stopped:
                raise RuntimeError(
                    f"{len({*remaining} - self._trained_indices)} sub-models were not trained"
                )
        _merge(self._model, self.weights, options, folder)

    def export(self) -> None:
        """Leave the model's arrays unchanged: sub-models start from them until merging."""
        self._model_position = copy.deepcopy(self.position)

    def save(self) -> None:
        """Write a checkpoint only before merging: resumed training may use a different method."""
        if self._model_position.epoch < self._model.epochs:
            super().save()

    def _checkpoints_of(self, index: int) -> Checkpoints | None:
        """Return the checkpoint of a finished sub-model; None without a folder for checkpoints."""
        if self._checkpoints is None:
            return None
        options = self._options  # without `merging`, which may differ when resumed
        sampling = f"{options.models} by {options.sampling}, rate {options.rate}"
        return Checkpoints(
            self._checkpoints.folder / f"sub-model-{index:03}",
            self._checkpoints.training | {"sub-models": sampling, "number": index},
            self._checkpoints.is_exclusive,
        )

    def _restore(self, index: int) -> bool:
        """Write the files of a sub-model from its checkpoint, and return whether there was one."""
        checkpoints = self._checkpoints_of(index)
        if checkpoints is None:
            return False
        arrays = checkpoints.load_latest(lambda arrays, _: arrays)
        if arrays is None:
            return False
        for name, array in arrays.items():
            save_array(file_of(self.corpus.folder, index, name), array)
        logger.info("sub-model %i is restored from its checkpoint", index + 1)
        return True


def sub_model_alphas(
    alphas: tuple[float, float], alpha: float, n_models: int
) -> tuple[float, float]:
    """Return the learning rates of one of N sub-models at the start and at the end of a unit.

    `alphas` are the rates of a single model, which starts with `alpha`. For N > 1, a rate r
    becomes ``N ** (2/3) * (0.1 * alpha + 0.9 * r)``, which does not fall to 0 at the end. Merging
    averages the remaining noise, like averaging weights over steps (Izmailov et al. 2018,
    "Averaging Weights Leads to Wider Optima and Better Generalization"). See "Learning rate" in
    docs/regimes/sub-models.md.
    """
    if n_models == 1:
        return alphas

    def enlarge(rate: float) -> float:
        return n_models ** (2 / 3) * (FINAL_SHARE * alpha + (1 - FINAL_SHARE) * rate)

    first, last = alphas
    return enlarge(first), enlarge(last)


def _map_arrays(folder: Path, index: int) -> dict[str, np.ndarray]:
    """Map a sub-model's files copy-on-write; unused tables have no file."""
    paths = {name: file_of(folder, index, name) for name in (*Tables._fields, "seen")}
    return {name: np.load(path, "c") for name, path in paths.items() if path.exists()}


def _merge(model: Any, weights: Weights, options: SubModels, folder: Path) -> None:
    """Merge the sub-models, which are in files of `folder`, into the model's arrays."""
    subwords = weights.subwords
    sub_models = []
    for index in range(options.models):
        arrays = _map_arrays(folder, index)
        occurrences = arrays.pop("seen")
        words = np.flatnonzero(occurrences)
        inputs = arrays.pop("inputs")
        if subwords is not None:
            arrays[SUBWORDS] = inputs
            inputs = subwords.means(arrays[SUBWORDS])
            arrays[SUBWORDS][subwords.spread(occurrences) == 0] = 0
        if len(words):
            sub_models.append(SubModel(words, inputs, arrays))
    merged = merge(sub_models, len(model.wv), options.merging, seed=seed_of(model))
    initial_rows = weights.tables().inputs
    size = merged.inputs.shape[1]
    rows = merged.inputs
    is_trained = merged.n_holders > 0
    if SUBWORDS in merged.tables:
        rows = merged.tables[SUBWORDS]
        is_trained = np.any(rows, axis=1)
    if size == model.vector_size:
        rows[~is_trained] = initial_rows[~is_trained]
    model.vector_size = size
    model.layer1_size = size
    model.wv.vector_size = size
    if subwords is None:
        model.wv.vectors = rows
    else:
        subwords.scatter(model.wv, rows, subwords.merge_rows(model.wv, initial_rows))
    for array in OUTPUT_LAYER:
        if array.table in merged.tables:
            setattr(model, array.name, merged.tables[array.table])
    renew_norms(model)
    model.merge_report = merged.report(model.wv.index_to_key)
    logger.info("%s", model.merge_report)
