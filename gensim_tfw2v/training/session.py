"""One call of `train`: its epochs, counters, checkpoints and recovery, with gensim's attributes."""

from __future__ import annotations

import contextlib
import copy
import functools
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gensim_tfw2v.cluster.spec import ClusterLost
from gensim_tfw2v.corpus.encoded_corpus import EncodedCorpus
from gensim_tfw2v.corpus.scanner import release_memory
from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.kernel.sizes import SMALL_CORPUS
from gensim_tfw2v.kernel.tables import Divergence, Reporter, UnitReport, UnitTask
from gensim_tfw2v.monitor.progress import progress_bar
from gensim_tfw2v.options.config import TrainingConfig
from gensim_tfw2v.processes.threads import defer_interrupts
from gensim_tfw2v.regimes.local import LocalRegime
from gensim_tfw2v.training.epoch import EpochLog, EpochUnits, Expected, Position, unit_tasks
from gensim_tfw2v.training.model_checks import (
    EACH_EPOCH,
    FIXED,
    check_corpus,
    refusal,
    settings_of,
)
from gensim_tfw2v.training.table_files import tables_folder
from gensim_tfw2v.training.training_plan import Plan, open_regime
from gensim_tfw2v.training.vocabulary import Vocabulary, seed_of
from gensim_tfw2v.training.weights import Weights

if TYPE_CHECKING:
    from gensim_tfw2v.cluster.launcher import ProcessLauncher
    from gensim_tfw2v.files.sharded_rows import ShardedRows
    from gensim_tfw2v.monitor.run import RunLog
    from gensim_tfw2v.monitor.traffic import Traffic
    from gensim_tfw2v.regimes import Regime
    from gensim_tfw2v.training.checkpoints import Checkpoints
    from gensim_tfw2v.training.cluster_losses import ClusterLosses

#: TensorBoard's log samples the loss of every `LOGGED_EVERY`-th block. Computing it takes 1 %
#: of the training time.
LOGGED_EVERY = 16


class Training:
    """State of one call of `train`: encoded corpus, regime, checkpoints and progress bar.

    It reads and writes the arrays of a `TFWord2Vec`. `close` removes the folder of the corpus,
    through which a cluster also exchanges files. The launcher starts the tasks of a local cluster.
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
        self.position = Position()  # progress, including that of a resumed checkpoint
        self._model_position = Position()  # progress that the model's arrays contain
        self._saved_position: Position | None = None  # progress that the last checkpoint contains
        # tables and progress of the last checkpoint, if it is newer than the model's arrays
        self._shards: tuple[dict[str, ShardedRows], Position] | None = None
        self.restored = 0, 0  # raw words, and words after subsampling, in a resumed checkpoint
        self._counting = threading.RLock()
        self._due = float("inf")  # time at which the epoch stops for a checkpoint
        self._is_due = threading.Event()
        self._signals: Mapping[int, Any] = {}  # signals that wait for the regime to stop
        # None if the cluster has not been lost since the last export
        self._cluster_losses: ClusterLosses | None = None
        self._traffic: Traffic | None = None  # sum of the traffic of regimes that were closed
        self._closed_regime: Regime | None = None  # the last of these
        self._fixed_options = FIXED
        self._checkpoints: Checkpoints | None = None
        self._process_launcher = process_launcher
        self.log: RunLog | None = None
        with contextlib.ExitStack() as resources:
            resources.callback(corpus.temporary.close)
            check_corpus(corpus, len(model.wv), config)
            self._kernel = ""  # kernel that must train, to reproduce bits; "" for the default
            if config.deterministic:
                self._kernel = by_ctypes.variant()
                corpus.recut()
            self._settings = settings_of(model)
            self.plan = self._plan()
            resources.callback(lambda: self.weights.close())
            # a different seed for each call of `train`, or all would have the same draws
            self.seed = seed_of(model) + 1_000_003 * model.train_count
            max_entries = self.plan.max_entries
            corpus.begin_training(model.train_count)
            self._counts_walks = corpus.walk_file is not None
            self.units = corpus.units(max_entries)
            self._whole_epoch = EpochUnits(self.units, self.seed)
            # units left of the epoch in which training has resumed, by the index of the epoch
            self._resumed_epoch: dict[int, EpochUnits] = {}
            if config.checkpoint_dir is not None:
                from gensim_tfw2v.training.checkpoint_identity import identity_of
                from gensim_tfw2v.training.checkpoints import Checkpoints
                from gensim_tfw2v.training.folder_lock import lock_folder

                lock = lock_folder(config.checkpoint_dir)
                resources.callback(lock.close)
                identity = identity_of(model, corpus, self.seed)
                self._checkpoints = Checkpoints(
                    config.checkpoint_dir, identity, lock.is_exclusive, tables_folder(model)
                )
                resources.callback(self._checkpoints.wait)
                if not self._resume():
                    self.save()
            if config.deterministic:
                from gensim_tfw2v.training.checkpoint_kernel import note_kernel

                note_kernel(model, self._kernel)
            self._regime_stack = resources.enter_context(contextlib.ExitStack())
            self._open()
            # The log is opened after the regime, whose workers must configure TensorFlow's threads
            # before any are started.
            if config.log is not None:
                from gensim_tfw2v.training.run_log import open_run_log

                self.log = open_run_log(model, self.plan, self.position, lambda: self.traffic)
                resources.callback(self.log.close)
            # last, because the bars of earlier phases use the same line
            n_epoch = corpus.total_sentences if self._counts_walks else corpus.total_raw_words
            self.bar = progress_bar(
                "training",
                config.progress,
                smoothing=0.1,
                total=n_epoch * model.epochs,
                initial=self._bar_position,
                unit="walks" if self._counts_walks else "words",
            )
            resources.callback(self.bar.close)
            #: Close everything: free the tables, remove the encoded corpus.
            self.close = resources.pop_all().close

    def _plan(self, n_entries: int | None = None) -> Plan:
        """Read the model's vocabulary and weights, and plan their training."""
        vocabulary = Vocabulary.of(self._model)
        is_on_cluster = self.config.cluster is not None
        self.weights = Weights(self._model, vocabulary.subwords, is_on_cluster)
        logged_every = 0 if self.config.log is None else LOGGED_EVERY
        loss_every = 1 if self._model.compute_loss else logged_every
        return Plan(
            self.config,
            vocabulary,
            self.corpus,
            self._model.epochs,
            loss_every,
            n_entries,
            self._kernel,
        )

    def _open(self) -> None:
        """Open the regime, again if its cluster is lost meanwhile; see `ClusterLosses`."""
        try:
            self._open_once()
        except ClusterLost as loss:
            self._losses().restart(loss, self._open_once)

    def _open_once(self) -> None:
        """Open the regime."""
        cuts = [self._whole_epoch, *self._resumed_epoch.values()]
        n_units = max(len(epoch.units) for epoch in cuts)
        try:
            self.regime = open_regime(
                self.plan, n_units, self.seed, self._regime_stack, self._process_launcher
            )
        except ConnectionError:
            self._regime_stack.close()  # stop the tasks that have started
            raise
        release_memory()

    def _losses(self) -> ClusterLosses:
        """Return the losses of the cluster since the last export."""
        if self._cluster_losses is None:
            from gensim_tfw2v.training.cluster_losses import ClusterLosses

            self._cluster_losses = ClusterLosses(self.plan, self.config.checkpoint_dir)
        return self._cluster_losses

    def renew(self) -> None:
        """Apply settings that callbacks or threads of the user have changed since the last epoch.

        The regime is reopened; the work units stay the same.

        Raises
        ------
        RuntimeError
            If a setting has changed that cannot change during training.
        TypeError, ValueError
            If the model cannot be trained with the new settings.
        """
        settings = settings_of(self._model)
        changes = {name for name in settings if settings[name] != self._settings[name]}
        if fixed_changes := changes & self._fixed_options:
            raise refusal(fixed_changes)
        if changes:
            config = self._model._check({})
        if changes - EACH_EPOCH:
            self.config = config
            self._settings = settings
            self._close_regime()
            self.plan = self._plan(self.plan.max_entries)
            self._open()

    def train_epoch(self, epoch: int, expected: Expected) -> tuple[int, int, int]:
        """Train an epoch, and update the model's vectors and counters.

        Returns words after subsampling, raw words, and units.
        """
        log = EpochLog(self._model, epoch, expected, self.position.trained)
        tasks = self._tasks(epoch, expected)
        if epoch < self.position.epoch:  # trained before a checkpoint, or with an earlier epoch
            return self.position.finished[epoch]
        while True:
            try:
                self._train(tasks, functools.partial(self.count, log))
                break
            except ClusterLost as loss:
                self._reopen(loss)
                self._go_back()
        return self._end_epochs(1, log)

    def _tasks(self, epoch: int, expected: Expected) -> list[UnitTask]:
        """Return the tasks of an epoch's units, in the order of training.

        Skip-gram shuffles them on a large corpus, which makes analogies a little better. For CBOW,
        the order of the text is as good, and results are closer to gensim's.
        """
        epoch_units = self._units_of(epoch)
        units = epoch_units.units
        seed = epoch_units.seed
        config = self.config
        if config.objective.skipgram and self.corpus.total_tokens >= SMALL_CORPUS:
            order = np.random.default_rng([seed, epoch]).permutation(len(units))
            units = [units[index] for index in order]
        n_earlier_words = epoch_units.n_earlier_words
        return unit_tasks(
            self._model, config, self.corpus, units, seed, epoch, expected, n_earlier_words
        )

    def _units_of(self, epoch: int) -> EpochUnits:
        """Return the units of an epoch, or those that are left of it if training has resumed."""
        return self._resumed_epoch.get(epoch, self._whole_epoch)

    def _train(self, tasks: Sequence[UnitTask], report: Reporter) -> None:
        """Train the remaining units of an epoch, starting from the model's vectors.

        At least one unit is trained between two checkpoints. Otherwise units that take longer than
        the time between checkpoints would never be finished.

        Raises
        ------
        ClusterLost
            If the epoch must restart from the model's vectors.
        Divergence
            If training diverges. A model that is trained in place then has no vectors.
        """
        remaining = [task for task in tasks if task.unit.index not in self.position.done]
        if remaining:
            self._load()
        while remaining:
            if self.weights.rows_in_place is not None:
                self.finish_writing()
            # A signal stops the regime when its running units are trained, and is handled when
            # these units are in the model's arrays and counted.
            with defer_interrupts() as self._signals:
                self._is_due.clear()
                self._due = time.monotonic() + self.config.checkpoint_seconds
                with self.weights.training():
                    self.regime.train_epoch(remaining, report, self._must_stop)
                has_stopped = self._must_stop()
                done = self.position.done
                remaining = [task for task in remaining if task.unit.index not in done]
                if not (remaining and self._save_shards()):
                    self.export()
            self._cluster_losses = None
            if remaining and not has_stopped:
                raise RuntimeError(f"{len(remaining)} work units were not trained")
            if remaining:
                self.save()
                if self.weights.rows_in_place is not None:
                    self._load()

    def _load(self) -> None:
        """Let the regime train on the model's arrays, or on copies of them.

        Shards that are newer than the model's arrays are loaded instead.
        """
        tables = self.weights.load(isinstance(self.regime, LocalRegime))
        if self._shards is not None:
            tables = tables._replace(**self._shards[0])
        self.regime.load(tables)

    def _must_stop(self) -> bool:
        """Return whether to stop the regime: for a checkpoint, or because of a signal."""
        return self._is_due.is_set() or bool(self._signals)

    def _end_epochs(self, n_epochs: int, log: EpochLog) -> tuple[int, int, int]:
        """Count, log and save `n_epochs` finished epochs that were trained as one."""
        model = self._model
        position = self.position
        position.end_epochs(n_epochs, self.corpus.total_raw_words)
        log.end(position, self.corpus.total_sentences)
        self._model_position = copy.deepcopy(position)
        self.save()
        if self.log is not None:
            is_last = position.epoch == model.epochs
            self.log.epoch(model, is_last, position.mean_losses[-n_epochs:], n_epochs)
        return position.finished[log.epoch]

    def finish(self) -> None:
        """Mark the remaining epochs as finished, so that resumed training skips them, too."""
        self.position.end_epochs(self._model.epochs - self.position.epoch, 0)
        self._model_position = copy.deepcopy(self.position)
        self._saved_position = None  # so that `save` writes arrays that a callback has restored
        self.save()
        if self.log is not None:
            self.log.projector(self._model)

    def count(self, log: EpochLog, report: UnitReport) -> None:
        """Count a trained unit, once, and log the progress; may be called from any thread."""
        model = self._model
        with self._counting:
            position = self.position
            if report.unit.index in position.done:
                return  # trained again after the cluster was lost
            position.add(report)
            if model.compute_loss:  # otherwise only some blocks have a loss, for the log
                position.total_loss += report.loss
                model.running_training_loss += report.loss  # a callback may reset the sum
            if self.log is not None:
                self.log.unit(report, self._n_raw_words_trained)
            unit = report.unit
            self.bar.update(unit.sentences if self._counts_walks else unit.raw_words)
            log.progress(position)
            if time.monotonic() >= self._due:
                self._is_due.set()

    @property
    def traffic(self) -> Traffic | None:
        """Traffic of the cluster since the start of training; None without a cluster."""
        is_counted = self.regime is self._closed_regime
        regime_traffic = None if is_counted else getattr(self.regime, "traffic", None)
        if regime_traffic is None or self._traffic is None:
            return self._traffic if regime_traffic is None else regime_traffic
        return self._traffic + regime_traffic

    def _close_regime(self) -> None:
        """Close the regime, and keep its traffic."""
        self._traffic = self.traffic
        self._closed_regime = self.regime
        self._regime_stack.close()

    def export(self) -> None:
        """Copy the trained vectors to the model's arrays, if they are finite, with their position.

        If copying fails, the recorded position of the arrays does not change: vectors that were
        copied incompletely do not count as trained. The caller must defer interrupts, because an
        interrupt would leave the copies incomplete.

        Raises
        ------
        ClusterLost
            If the vectors are lost.
        Divergence
            If the vectors are not finite.
        RuntimeError
            If the shapes of the model's arrays have changed.
        """
        self.finish_writing()
        try:
            are_same_shapes = self.weights.write(self.regime.export)
        except Divergence as error:
            raise self.weights.abandon(error) from None
        if not are_same_shapes:
            raise refusal(["shapes"])
        self._model_position = copy.deepcopy(self.position)
        self._shards = None

    def _save_shards(self) -> bool:
        """Let each ps task write a checkpoint of its rows, and return whether all could do so.

        This is faster than `export` for a model whose arrays are in files, because no rows are
        sent. The model's arrays stay as they are.
        """
        from gensim_tfw2v.training.checkpoint_cut import has_partial_epochs

        if self._checkpoints is None or self._signals:
            return False
        if not (self.weights.is_on_cluster and self.weights.has_files()):
            return False
        if not has_partial_epochs(self.config.regime_of_workers):
            return False
        position = copy.deepcopy(self.position)
        regime: Any = self.regime  # on a cluster
        shards = self._checkpoints.save_shards(regime.save, self._state_of(position))
        if not shards:
            return False
        self._shards = shards, position
        self._saved_position = position
        return True

    @property
    def _kept_position(self) -> Position:
        """Progress that the rows contain from which a lost cluster restarts; see `_load`."""
        return self._model_position if self._shards is None else self._shards[1]

    @defer_interrupts()
    def interrupt(self) -> None:
        """Keep the vectors trained so far, in the model and in a checkpoint."""
        # a regime that is not ahead may be closed, or incompletely loaded
        if self.weights.regime_is_ahead:
            with contextlib.suppress(ClusterLost, Divergence):
                self.export()
        self.save()

    def save(self) -> None:
        """Write a checkpoint of the model's arrays and of the progress that they contain.

        Without progress since the last checkpoint, none is written. Only callbacks may have changed
        the arrays since, and they are called again when the training is resumed.
        """
        if self._checkpoints is None or self._model_position == self._saved_position:
            return
        if self._shards is not None:
            return  # they are newer than the model's arrays
        position = self._model_position
        tables = self.weights.tables()
        is_last = position.epoch == self._model.epochs
        self._checkpoints.save(tables._asdict(), self._state_of(position), is_last)
        self._saved_position = copy.deepcopy(position)

    def _state_of(self, position: Position) -> dict[str, Any]:
        """Return the state of a checkpoint at a position."""
        from gensim_tfw2v.training.checkpoint_cut import SavedCut, has_partial_epochs

        kernel = self._kernel or (by_ctypes.variant() if self.plan.shares_rows else "")
        epoch = self._units_of(position.epoch)
        ranges = []
        if has_partial_epochs(self.config.regime_of_workers):
            ranges = epoch.trained_ranges(self.corpus, position.done)
        cut = SavedCut(epoch.describe(), ranges)
        return position.state() | {"kernel": kernel, "cut": cut.state()}

    def finish_writing(self) -> None:
        """Wait until the last checkpoint is written, so that the model's arrays may change."""
        if self._checkpoints is not None:
            self._checkpoints.wait()

    def _reopen(self, error: ClusterLost) -> None:
        """Reopen the cluster.

        Raises a `ClusterLost` after too many losses; see `ClusterLosses.reopen`.
        """
        self.weights.regime_is_ahead = False
        self._close_regime()
        if self._traffic is not None:
            self._traffic.repeated += len(self.position.done - self._kept_position.done)
        self._losses().reopen(error, self._open_once)

    def _go_back(self) -> None:
        """Reset the position and the loss to the state of the rows that `_load` loads."""
        lost_loss = self.position.total_loss - self._kept_position.total_loss
        self._model.running_training_loss -= lost_loss
        self.position = copy.deepcopy(self._kept_position)
        self.bar.update(self._bar_position - self.bar.n)

    def _resume(self) -> bool:
        """Restore the last checkpoint on disk, and return whether there was one."""
        from gensim_tfw2v.training.resumption import load_resumption

        assert self._checkpoints is not None
        resumption = load_resumption(
            self._checkpoints,
            self.config,
            self.corpus,
            self._whole_epoch,
            self.plan.max_entries,
        )
        if resumption is None:
            return False
        self._use_kernel(resumption.kernel)
        self.position = position = resumption.position
        self._resumed_epoch = {position.epoch: resumption.epoch}
        self.weights.write(resumption.fill)
        if resumption.shards and self.weights.is_on_cluster and self.weights.has_files():
            self._shards = resumption.shards, copy.deepcopy(position)
        model = self._model
        model.running_training_loss = position.total_loss
        model.mean_losses = list(position.mean_losses)
        self._model_position = copy.deepcopy(position)
        self._saved_position = copy.deepcopy(position)
        self.restored = resumption.count_words()
        resumption.log(self._checkpoints.folder, model.epochs)
        return True

    def _use_kernel(self, kernel: str) -> None:
        """Train with the kernel of a checkpoint, if possible; see `can_use_kernel`."""
        is_default = kernel in ("", self._kernel or by_ctypes.variant())
        shares_rows = self.plan.shares_rows
        if is_default or not (shares_rows or self.config.deterministic):
            return
        assert self._checkpoints is not None
        folder = self._checkpoints.folder
        from gensim_tfw2v.training.checkpoint_kernel import can_use_kernel

        if can_use_kernel(kernel, folder, shares_rows, self.config.deterministic):
            self._kernel = kernel
            self.plan = self._plan(self.plan.max_entries)

    @property
    def _n_raw_words_trained(self) -> int:
        """Number of raw words that have been trained on, over all epochs."""
        return self.position.epoch * self.corpus.total_raw_words + self.position.raw_words

    @property
    def _bar_position(self) -> int:
        """Number of raw words, or of walks, that have been trained on, over all epochs."""
        if self._counts_walks:
            return self.position.epoch * self.corpus.total_sentences + self.position.sentences
        return self._n_raw_words_trained
