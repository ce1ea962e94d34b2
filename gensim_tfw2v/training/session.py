"""State of one call of `train`, made from gensim's attributes and put back into them."""

from __future__ import annotations

import contextlib
import copy
import functools
import logging
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from gensim.models import KeyedVectors

from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.config import ATTRIBUTES, TrainingConfig
from gensim_tfw2v.corpus.shards import EncodedCorpus, WorkUnit
from gensim_tfw2v.files.temporary import OWNED
from gensim_tfw2v.kernel.native import plain
from gensim_tfw2v.kernel.sizes import SMALL_CORPUS
from gensim_tfw2v.kernel.tables import Reporter, Tables, UnitReport, UnitTask
from gensim_tfw2v.monitor.progress import progress_bar
from gensim_tfw2v.parameter_server.traffic import Traffic
from gensim_tfw2v.processes.forkserver import ProcessLauncher
from gensim_tfw2v.training.checkpoints import Checkpoints, Position, lock_folder
from gensim_tfw2v.training.plan import Plan, open_regime
from gensim_tfw2v.training.vocabulary import Vocabulary, renew_norms, seed_of, tables_of, weights_of

logger = logging.getLogger(__name__)

#: What a training is made with, beside its corpus, its vocabulary and its seed.
OPTIONS = (
    *("vector_size", "sg", "hs", "negative", "ns_exponent", "window", "shrink_windows"),
    *("cbow_mean", "corrected_cbow", "negative_shards", "sample", "alpha", "min_alpha", "epochs"),
    "deterministic",
)

#: And what of FastText's, which its vectors have, and of Doc2Vec's.
SUBWORDS = ("min_n", "max_n", "bucket")
DOCUMENTS = ("dbow_words", "dm_concat", "dm_tag_count")

#: TensorBoard's log takes the loss of every so manieth block: that costs a hundredth of the time.
LOGGED_EVERY = 16

#: Options that each epoch reads itself.
EACH_EPOCH = {"alpha", "min_alpha", "epochs", "batch_words"}

#: Settings that a training is made for, and keeps.
FIXED = {"cluster", "regime", "layout", "log_dir", "checkpoint_dir"}
FIXED |= {"deterministic", "words", "shapes"}

#: How often in a row a cluster may be lost without a checkpoint in between, and for how many
#: seconds another attempt is made to have it back.
LOSSES = 5
RETURN_SECONDS = 25.0


class Training:
    """The encoded corpus, the regime, checkpoints and the progress bar of one call of `train`.

    It reads and writes the arrays of a `TFWord2Vec`. The corpus is removed by `close`; a cluster
    exchanges files in its folder. Tasks of a local cluster start in the launcher.
    """

    def __init__(
        self,
        model: Any,
        config: TrainingConfig,
        corpus: EncodedCorpus,
        process_launcher: ProcessLauncher | None = None,
    ) -> None:
        self._model = model
        self.config = config
        self.corpus = corpus
        self.epochs_at_once = 1  # that `train` is given
        # another seed for each call of `train`, or all would draw the same
        self.seed = seed_of(model) + 1_000_003 * model.train_count
        self.position = Position()  # what has been trained; from a checkpoint if there was one
        self._model_position = Position()  # what the model's arrays are from
        self.counting = threading.RLock()
        self._lost = 0
        self._traffic = Traffic()  # of clusters that were lost
        self.description: dict[str, Any] = {}  # tells this training's checkpoints from others
        self.restored = 0, 0  # raw words, and words trained on, that a checkpoint had
        with contextlib.ExitStack() as resources:
            resources.callback(corpus.close)
            if not corpus.total_sentences:
                logger.warning(
                    "train() called with an empty iterator (if not intended, be sure to provide a "
                    "corpus that offers restartable iteration = an iterable)."
                )
            if config.deterministic:
                _note_kernel(model)
                corpus.cut_anew()
            vocabulary = Vocabulary.of(model)
            self._settings = settings_of(model)
            self._weights = weights_of(model)
            self._inputs: np.ndarray | None = None  # what the model's rows of n-grams were
            self._subwords = vocabulary.subwords
            plan = self._plan(vocabulary)
            self._entries = plan.config.max_entries
            self.units: list[WorkUnit] = corpus.units(self._entries)
            self._checkpoints: Checkpoints | None = None
            if config.checkpoint_dir is not None:
                resources.callback(lock_folder(config.checkpoint_dir).close)
                self.description = _description(model, self.units, self.seed)
                self._checkpoints = Checkpoints(config.checkpoint_dir, self.description)
                resources.callback(self._checkpoints.wait)
                if not self._resume():
                    self.save()
            self._process_launcher = process_launcher
            self._regime_stack = resources.enter_context(contextlib.ExitStack())
            self._set_up(plan)
            # after the regime: workers set TensorFlow's threads while TensorFlow has none
            self.log: RunLog | None = None
            if config.log is not None:
                from gensim_tfw2v.monitor.graph import objective_graph
                from gensim_tfw2v.monitor.run import RunLog, hyperparameters

                made_with = hyperparameters(model, corpus.total_raw_words)
                before = self.position
                # of this model's trainings, and of this very one before it was ended
                goes_on = any((*model._logged, before.epoch, before.done))
                logged = model._logged
                self.log = RunLog(config.log, made_with, lambda: self.traffic, logged, goes_on)
                resources.callback(self.log.close)
                rows = vocabulary.rows(config).inputs
                program = plan.config
                sizes = len(vocabulary), rows, program.vector_size, program.shape.shared
                self.log.graph(objective_graph(program.objective, *sizes, model.ns_exponent))
            # last, for until now what was being done was shown in its place
            total = corpus.total_raw_words * model.epochs
            self.bar = progress_bar(total, config.progress, self.restored[0])
            resources.callback(self.bar.close)
            #: Frees the tables and removes the encoded corpus.
            self.close = resources.pop_all().close

    def _plan(self, vocabulary: Vocabulary, entries: int | None = None) -> Plan:
        logged_every = 0 if self.config.log is None else LOGGED_EVERY
        loss_every = 1 if self._model.compute_loss else logged_every
        return Plan(self.config, vocabulary, self.corpus, loss_every, entries)

    def _set_up(self, plan: Plan) -> None:
        """Open the regime that trains the work units."""
        self._open = functools.partial(
            open_regime,
            *(plan, len(self.units), self.seed, self._regime_stack, self._process_launcher),
        )
        self.regime = self._open()

    def renew(self) -> None:
        """Apply settings that callbacks or other threads have changed since the last epoch.

        The regime is opened again; the work units stay the same.

        Raises
        ------
        RuntimeError
            If a setting has changed that cannot change during training.
        TypeError, ValueError
            If the model cannot be trained with the new settings.
        """
        settings = settings_of(self._model)
        changed = {name for name in settings if settings[name] != self._settings[name]}
        are_trained = self.epochs_at_once > 1 and self.position.epoch > 0
        if refused := changed if are_trained else changed & FIXED:
            raise _refusal(refused)
        if changed:
            config = self._model._check({})
        if changed - EACH_EPOCH:
            self.config = config
            self._settings = settings
            self._traffic = self.traffic or self._traffic
            self._regime_stack.close()
            vocabulary = Vocabulary.of(self._model)
            self._subwords = vocabulary.subwords
            self._set_up(self._plan(vocabulary, self._entries))

    def units_of(self, epoch: int) -> list[WorkUnit]:
        """The units in the order in which an epoch trains them.

        Of much text skip-gram's is another in each epoch, which makes analogies a little better.
        CBOW is as good in the order of the text, and there more like gensim.
        """
        if not self.config.objective.skipgram or self.corpus.total_tokens < SMALL_CORPUS:
            return self.units
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self.units))
        return [self.units[place] for place in order]

    def train(self, epochs: Sequence[Sequence[UnitTask]], report: Reporter) -> None:
        """Train what is left of the epochs, and put the vectors into the model.

        All tasks of each of `epochs_at_once` are given; `report` is called from any thread.
        """
        while True:
            try:
                self.load()
                self._train(epochs, report)
                return
            except ClusterLost as lost:
                self._reopen(lost)

    def _train(self, epochs: Sequence[Sequence[UnitTask]], report: Reporter) -> None:
        """Train on one cluster; ClusterLost if that loses its parameters."""
        (tasks,) = epochs
        while True:
            left = [task for task in tasks if task.unit.index not in self.position.done]
            due = time.monotonic() + self.config.checkpoint_seconds
            before = len(self.position.done)

            def checkpoint_is_due() -> bool:
                # after one unit at least: else units longer than the time between would never end
                return len(self.position.done) > before and time.monotonic() >= due  # noqa: B023

            self.regime.train_epoch(left, report, checkpoint_is_due)
            self.export()
            self._lost = 0
            if len(self.position.done) == len(self.units):
                return
            if not checkpoint_is_due():
                raise RuntimeError(f"{len(self.units) - len(self.position.done)} units were lost")
            self.save()

    def end_epochs(self) -> None:
        """Go on to what is trained next."""
        self.position.end_epochs(self.epochs_at_once, self.corpus.total_raw_words)
        self._set_model_position()
        self.save()

    def finish(self) -> None:
        """Have no more epochs, now or when this training is resumed; the arrays are the last."""
        self.position.end_epochs(self._model.epochs - self.position.epoch, 0)
        self._set_model_position()
        self.save()
        if self.log is not None:
            self.log.projector(self._model)

    def count(self, report: UnitReport) -> None:
        """Count a unit that is trained, once; from any thread."""
        model = self._model
        with self.counting:
            position = self.position
            if report.unit.index in position.done:
                return  # of what was lost and begun anew
            position.add(report, in_total=bool(model.compute_loss))
            if model.compute_loss:
                model.running_training_loss += report.loss  # which a callback may have set to 0
            if self.log is not None:
                self.log.unit(report, self._reached)
            self.bar.update(report.unit.raw_words)

    def log_epoch(self) -> None:
        """Have TensorBoard's log take the vectors of an epoch that has ended."""
        if self.log is not None:
            number = self.epochs_at_once
            losses = self.position.mean_losses[-number:]
            is_last = self.position.epoch == self._model.epochs
            self.log.epoch(self._model, is_last, losses, number)

    @property
    def traffic(self) -> Traffic | None:
        """Work of the cluster; None without one."""
        of_regime = getattr(self.regime, "traffic", None)
        return None if of_regime is None else self._traffic + of_regime

    def export(self) -> None:
        """Put the trained vectors into the model's arrays, if they are finite."""
        if not self.regime.finite():
            return
        if self._checkpoints is not None:
            self._checkpoints.wait()  # which may be writing the rows that are there
        self._write(self.regime.export)
        self._set_model_position()

    def save(self) -> None:
        """Write a checkpoint of the model's arrays and of the position that they are from."""
        if self._checkpoints is not None:
            tables = tables_of(self._model, self._subwords)
            self._checkpoints.save(tables._asdict(), self._model_position.state())

    def _write(self, fill: Callable[[Tables], None]) -> None:
        """Have the model's arrays filled, and put right what is made of them."""
        model = self._model
        subwords = self._subwords
        current = weights_of(model)
        is_other = _shapes(current) != self._settings["shapes"]
        if is_other:
            for held, arrays in self._weights:
                held.update(arrays)
        # copies in place of arrays to which float32 rows, in C order, cannot be written
        for name in ("vectors_vocab", "vectors_ngrams") if model.has_subwords else ("vectors",):
            setattr(model.wv, name, np.require(getattr(model.wv, name), np.float32, ["C", "W"]))
        if model.negative:
            model.syn1neg = np.require(model.syn1neg, np.float32, ["C", "W"])
        if model.hs:
            model.syn1 = np.require(model.syn1, np.float32, ["C", "W"])
        tables = tables_of(model)
        if subwords is not None:
            rows = np.empty((len(subwords.weights), model.vector_size), np.float32)
            tables = tables._replace(inputs=rows)
        fill(tables)
        if subwords is not None:
            subwords.scatter(model.wv, rows, self._inputs)
            self._inputs = rows
        if is_other:
            for held, arrays in current[1:]:  # vectors that were added stay behind the trained ones
                trained = held["vectors"]
                added = arrays["vectors"][len(held["vectors"]) :]
                held["vectors"] = np.concatenate([trained, added])
        for vectors in (model.wv, model.dv) if model.has_documents else (model.wv,):
            renew_norms(vectors)
        if is_other:
            raise _refusal(["shapes"])

    def load(self) -> None:
        """Start from the model's vectors, which a callback may have changed."""
        tables = tables_of(self._model, self._subwords)
        self._inputs = tables.inputs
        self._weights = weights_of(self._model)
        self.regime.load(tables)

    def _reopen(self, lost: ClusterLost) -> None:
        """Have a cluster again; tasks may end, or be gone, while it comes up, too."""
        if (traffic := self.traffic) is not None:
            traffic.repeated += len(self.position.done - self._model_position.done)
            self._traffic = traffic
        self._regime_stack.close()
        noticed = time.monotonic()
        while True:
            self._lost += 1
            if self._lost > LOSSES or time.monotonic() > noticed + RETURN_SECONDS:
                raise ClusterLost(f"{lost}. {self._how_to_go_on()}") from lost
            logger.warning("%s; going back to the last checkpoint", lost)
            try:
                self.regime = self._open()
                break
            except ConnectionError as error:
                lost = error if isinstance(error, ClusterLost) else ClusterLost(str(error))
        self._go_back()

    def _how_to_go_on(self) -> str:
        folder = self.config.checkpoint_dir
        if folder is None or (folder / OWNED).exists():  # of a temporary one
            return "With --checkpoint-dir (checkpoint_dir), the work would have been kept"
        return (
            f"The last checkpoint, in {folder}, keeps the work: once the cluster is back, run the "
            "same training again to go on from there"
        )

    def _go_back(self) -> None:
        """Go back to what the model's arrays are from."""
        lost_loss = self.position.total_loss - self._model_position.total_loss
        self._model.running_training_loss -= lost_loss
        self.position = copy.deepcopy(self._model_position)
        self.bar.update(self._reached - self.bar.n)

    def _resume(self) -> bool:
        """Go on from a checkpoint on disk, if there is one."""
        assert self._checkpoints is not None
        model = self._model
        found = self._checkpoints.latest(
            lambda arrays, state: (Tables(**arrays), Position.of(state))
        )
        if found is None:
            return False
        tables, self.position = found

        def fill(arrays: Tables) -> None:
            for array, kept in zip(arrays, tables, strict=True):
                array[:] = kept

        self._write(fill)
        model.running_training_loss = self.position.total_loss
        model.mean_losses = list(self.position.mean_losses)
        self._set_model_position()
        finished = [*self.position.finished, (self.position.trained, self.position.raw_words, 0)]
        trained, raw_words, _ = map(sum, zip(*finished, strict=True))
        self.restored = raw_words, trained
        done = len(self.position.done)
        folder = self._checkpoints.folder
        units = f" and {done} of {len(self.units)} work units of the next" if done else ""
        epochs = f"{self.position.epoch} of {model.epochs} epochs"
        logger.info("resumed from %s: %s%s are trained", folder, epochs, units)
        return True

    @property
    def _reached(self) -> int:
        """Raw words of the text that have been trained, over all epochs."""
        return self.position.epoch * self.corpus.total_raw_words + self.position.raw_words

    def _set_model_position(self) -> None:
        self._model_position = copy.deepcopy(self.position)


def settings_of(model: Any) -> dict[str, Any]:
    """Settings of a model that training reads, by their names."""
    weights = weights_of(model)
    of_words = model.wv.expandos
    arrays = {"cum_table": vars(model).get("cum_table"), "sample_int": of_words.get("sample_int")}
    for place, (held, _) in zip(("", "wv.", "dv."), weights, strict=False):
        arrays |= {place + name: held[name] for name in tuple(held) if "_lockf" in name}
    return {
        **{name: getattr(model, name, None) for name in {*ATTRIBUTES, "compute_loss"} - {"seed"}},
        **{name: np.asarray(array).tobytes() for name, array in arrays.items()},
        "words": [held.get("key_to_index") for held, _ in weights],
        "shapes": _shapes(weights),
    }


def _shapes(weights: list[Any]) -> list[tuple[int, ...]]:
    """Return the shapes of what `weights_of` gives."""
    return [np.shape(array) for _, arrays in weights for array in arrays.values()]


def _refusal(changed: Iterable[str]) -> RuntimeError:
    return RuntimeError(
        "a callback or another thread has changed what must stay the same during training: "
        f"{', '.join(sorted(changed))}. The model keeps what was trained. Change words, shapes of "
        "arrays and these options, and add vectors (wv.add_vector), before train() or after it. "
        "With sub-models, which train all epochs at once, that goes for every option"
    )


def _note_kernel(model: Any) -> None:
    """Note whose sums a deterministic training has: another kernel rounds others."""
    if model.kernel not in (None, kernel := plain.variant()):
        logger.warning(
            "the model was trained by the kernel for %s, and now is by that for %s: set "
            "TFW2V_ISA=%s to go on with the same numbers",
            *(model.kernel, kernel, model.kernel),
        )
    model.kernel = kernel


def _description(model: Any, units: list[WorkUnit], seed: int) -> dict[str, Any]:
    """Description that tells a training from others, for `Checkpoints`."""
    corpus = [(unit.start, unit.stop, unit.tokens, unit.raw_words) for unit in units]
    return {
        "vocabulary": _keys(model.wv, "words"),
        # with none each program draws one: going on with another is as good
        "seed": f"any, training {model.train_count + 1}" if model.seed is None else seed,
        **{name: getattr(model, name) for name in OPTIONS},
        **{name: getattr(model.wv, name) for name in SUBWORDS if model.has_subwords},
        **{name: getattr(model, name) for name in DOCUMENTS if model.has_documents},
        **({"tags": _keys(model.dv, "tags")} if model.has_documents else {}),
        # last, for its units are as options have it
        "corpus": f"{len(units)} units, {zlib.crc32(repr(corpus).encode()):08x}",
    }


def _keys(vectors: KeyedVectors, what: str) -> str:
    text = "\n".join(map(str, vectors.index_to_key))
    return f"{len(vectors)} {what}, {zlib.crc32(text.encode('utf-8', 'surrogatepass')):08x}"
