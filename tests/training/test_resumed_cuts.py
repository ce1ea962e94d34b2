"""Epochs that are resumed with different work units: which entries are left, counts and rates."""

import json
import logging
from pathlib import Path

import numpy as np
import pytest
from gensim.models.doc2vec import TaggedDocument
from gensim.models.word2vec import LineSentence
from gensim.test.utils import datapath

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.options.regimes import parse_regime
from gensim_tfw2v.training.checkpoint_cut import SavedCut, check_cut, resume_epoch
from gensim_tfw2v.training.checkpoints import DESCRIPTION, CheckpointError, _checksum
from gensim_tfw2v.training.epoch import EpochUnits, Position
from gensim_tfw2v.training.session import Training
from tests.corpus.test_entry_ranges import make_corpus

ASYNCHRONOUS, SUB_MODELS, SANDBLASTER = map(
    parse_regime, ("asynchronous", "submodels", "sandblaster")
)
LENGTHS = [[9] * 40]  # 400 entries, in sentences of 10
SENTENCES = list(LineSentence(datapath("lee_background.cor")))
DOCUMENTS = [TaggedDocument(words, [number]) for number, words in enumerate(SENTENCES)]
OPTIONS = {"vector_size": 16, "epochs": 3, "seed": 5, "workers": 1, "compute_loss": True}
CLASSES = {
    "skip-gram": (TFWord2Vec, SENTENCES, {"sg": 1}),
    "CBOW": (TFWord2Vec, SENTENCES, {}),
    "FastText": (TFFastText, SENTENCES, {"bucket": 2000}),
    "DM": (TFDoc2Vec, DOCUMENTS, {}),
    "DBOW": (TFDoc2Vec, DOCUMENTS, {"dm": 0, "dbow_words": 1}),
}


@pytest.fixture
def corpus():
    with make_corpus(LENGTHS, False) as corpus:
        yield corpus


def partial_position(units, done):
    """Return the position of a training run that has trained the units with these numbers."""
    position = Position(epoch=1, losses=[[3.0, 2.0]], total_loss=8.0, finished=[(1, 2, 3)])
    for number in done:
        position.done.add(number)
        position.raw_words += units[number].raw_words
        position.sentences += units[number].sentences
    return position


def resumed(corpus, old_size, new_size, done, regime=ASYNCHRONOUS, ranges="known"):
    """Return the position and the units of an epoch that is resumed with a size of units."""
    old = EpochUnits(corpus.units(old_size), 7)
    position = partial_position(old.units, done)
    saved_ranges = None if ranges is None else old.trained_ranges(corpus, position.done)
    cut = SavedCut(old.describe(), saved_ranges if ranges in (None, "known") else ranges)
    cut = SavedCut.of(json.loads(json.dumps(cut.state())))
    epoch = EpochUnits(corpus.units(new_size), 7)
    rest = resume_epoch(position, cut, epoch, corpus, new_size, regime)
    return position, epoch, rest


def test_equal_cut_keeps_units_and_position(corpus):
    position, epoch, rest = resumed(corpus, 50, 50, {0, 3})
    assert rest is epoch
    assert (position.done, position.n_earlier_units) == ({0, 3}, 0)


def test_different_cut_leaves_the_untrained_entries(corpus):
    position, _, rest = resumed(corpus, 50, 80, {0, 1, 5})
    assert (position.done, position.n_earlier_units, position.n_units) == (set(), 3, 3)
    assert rest.earlier_ranges == [(0, 100), (250, 300)]
    assert corpus.unit_ranges(rest.units) == [(100, 250), (300, 400)]
    left = sum(unit.raw_words for unit in rest.units)
    assert position.raw_words + left == corpus.total_raw_words
    assert rest.n_earlier_words == position.raw_words
    assert position.sentences + sum(unit.sentences for unit in rest.units) == corpus.total_sentences
    assert rest.seed != 7  # other draws than those of earlier units with the same numbers
    # the next checkpoint has the earlier entries, too
    assert rest.trained_ranges(corpus, {0}) == [(0, 100 + rest.units[0].stop - 100), (250, 300)]


def test_finished_epochs_need_no_equal_cut(corpus):
    position, epoch, rest = resumed(corpus, 50, 80, set())
    assert rest is epoch and position == partial_position([], set())


@pytest.mark.parametrize("size", [50, 80])
@pytest.mark.parametrize("regime", [SUB_MODELS, SANDBLASTER])
def test_regime_of_whole_epochs_begins_the_epoch_of_another_regime_again(corpus, size, regime):
    position, epoch, rest = resumed(corpus, 50, size, {0, 3}, regime)
    assert rest is epoch
    assert position == Position(epoch=1, finished=[(1, 2, 3)], total_loss=5.0)


@pytest.mark.parametrize(
    ("size", "regime"),
    [
        (50, ASYNCHRONOUS),
        (80, ASYNCHRONOUS),
        (50, SANDBLASTER),
        (80, SANDBLASTER),
        (80, SUB_MODELS),
    ],
)
def test_epoch_begins_again_if_its_units_are_in_no_arrays(corpus, size, regime):
    """The checkpoint is one of sub-models or of Sandblaster."""
    position, epoch, rest = resumed(corpus, 50, size, {0, 3}, regime, ranges=[])
    assert rest is epoch
    assert (position.n_units, position.raw_words, position.losses) == (0, 0, [])


def test_sub_models_keep_their_counts_with_an_equal_cut(corpus):
    position, epoch, rest = resumed(corpus, 50, 50, {0, 3}, SUB_MODELS, ranges=[])
    assert position.done == {0, 3} and rest is epoch


@pytest.mark.parametrize("regime", [ASYNCHRONOUS, SUB_MODELS])
def test_checkpoint_of_an_earlier_version_keeps_its_position_with_an_equal_cut(corpus, regime):
    position, _, _ = resumed(corpus, 50, 50, {0, 3}, regime, ranges=None)
    assert position.done == {0, 3}


def test_different_cut_of_an_earlier_version_raises(corpus):
    epoch = EpochUnits(corpus.units(50), 7)
    cut = SavedCut(EpochUnits(corpus.units(80), 7).describe(), None)
    message = "it has 5 units, .*, this one has 8 units, .*the number of workers with which"
    with pytest.raises(CheckpointError, match=message):
        check_cut(cut, epoch, False, Path("folder"))
    check_cut(SavedCut(epoch.describe(), None), epoch, True, Path("folder"))


def test_different_cut_of_a_deterministic_training_raises(corpus):
    epoch = EpochUnits(corpus.units(50), 7)
    cut = SavedCut(EpochUnits(corpus.units(80), 7).describe(), [(0, 80)])
    message = "would not give the same vectors: .*Resume it as it began, on a cluster or without"
    with pytest.raises(CheckpointError, match=message):
        check_cut(cut, epoch, True, Path("folder"))
    check_cut(cut, epoch, False, Path("folder"))


def test_deterministic_training_is_not_resumed_with_a_different_cut(tmp_path, monkeypatch):
    case = CLASSES["CBOW"]
    options = {"deterministic": True}
    train_in_parts(case, tmp_path, [2000], monkeypatch, [], is_complete=False, **options)
    log = []
    with pytest.raises(CheckpointError, match=f"{tmp_path} has a checkpoint of deterministic"):
        train_in_parts(case, tmp_path, [3100], monkeypatch, log, **options)
    assert not log
    train_in_parts(case, tmp_path, [2000], monkeypatch, log, **options)
    assert log


def test_rates_of_the_rest_continue_where_the_trained_units_ended(tmp_path, monkeypatch):
    """With one thread, the trained units are the first ones, so rates fall without a gap."""
    whole_log, log = [], []
    train_in_parts(CLASSES["CBOW"], tmp_path / "whole", [1000], monkeypatch, whole_log)
    train_in_parts(CLASSES["CBOW"], tmp_path / "cut", [1000, 1700, 600], monkeypatch, log)
    # rates are linear in the epoch and in the words of the epoch
    whole_progress, whole_rates = rates_in(whole_log)
    coefficients = np.linalg.lstsq(whole_progress, whole_rates, rcond=None)[0]
    np.testing.assert_allclose(whole_progress @ coefficients, whole_rates, rtol=1e-6)
    progress, rates = rates_in(log)
    np.testing.assert_allclose(progress @ coefficients, rates, rtol=1e-6)
    assert rates.tolist() == sorted(rates, reverse=True) and rates[-1] == whole_rates[-1]


def rates_in(log):
    """Return, for each trained unit, [1, epoch, words of the epoch so far], and its last rate."""
    n_words = dict.fromkeys(range(OPTIONS["epochs"]), 0)
    progress = []
    for epoch, report, _ in log:
        n_words[epoch] += report.unit.raw_words
        progress.append([1, epoch, n_words[epoch]])
    return np.array(progress, float), np.array([report.alpha for _, report, _ in log])


class Ended(Exception):
    """Stands for the end of the user's program."""


def train_in_parts(case, folder, sizes, monkeypatch, log, is_complete=True, n_units=5, **options):
    """Train with work units of each size in turn; return the model.

    Each program ends when it has trained `n_units` units, except for the last one if the training
    `is_complete`. The list `log` gets the epoch, the report and the entries of each unit.
    """
    class_, corpus, class_options = case
    options = OPTIONS | class_options | options | {"checkpoint_dir": folder}
    count = Training.count
    save = Training.save

    def count_and_log(training, epoch_log, report):
        ranges = training.corpus.unit_ranges([report.unit])
        log.append((training.position.epoch, report, ranges[0]))
        count(training, epoch_log, report)

    def save_and_end(training):
        save(training)
        n_trained.append(None)
        if len(n_trained) > n_units:
            raise Ended

    for size in sizes:
        is_last = is_complete and size is sizes[-1]
        n_trained = []
        with monkeypatch.context() as patch:
            patch.setattr("gensim_tfw2v.unit_sizes.UNIT_ENTRIES", size)
            patch.setattr("gensim_tfw2v.unit_sizes.PAIRED_ENTRIES", size)
            patch.setattr(Training, "count", count_and_log)
            if is_last:
                return class_(corpus, **options)
            # a checkpoint after each unit
            patch.setattr(Training, "save", save_and_end)
            with pytest.raises(Ended):
                class_(corpus, **options, checkpoint_minutes=1e-9)


@pytest.mark.parametrize("name", CLASSES)
def test_each_entry_is_trained_once_per_epoch_whatever_the_cuts(name, tmp_path, monkeypatch):
    log = []
    sizes = [2000, 3100, 1200, 5000]
    model = train_in_parts(CLASSES[name], tmp_path / "cut", sizes, monkeypatch, log)
    expected = train_in_parts(CLASSES[name], tmp_path / "whole", [2000], monkeypatch, [])
    n_entries = max(stop for _, _, (_, stop) in log)
    n_trainings = np.zeros((OPTIONS["epochs"], n_entries), int)
    for epoch, _, (start, stop) in log:
        n_trainings[epoch, start:stop] += 1
    assert (n_trainings == 1).all()
    np.testing.assert_allclose(model.mean_losses, expected.mean_losses, rtol=0.01)
    assert model.running_training_loss == pytest.approx(expected.running_training_loss, rel=0.01)
    assert model.min_alpha_yet_reached == pytest.approx(expected.min_alpha_yet_reached)


def test_counts_of_a_resumed_epoch_are_those_of_the_whole_epoch(tmp_path, monkeypatch, caplog):
    log = []
    with caplog.at_level(logging.INFO):
        train_in_parts(CLASSES["CBOW"], tmp_path, [2000, 3100, 1200], monkeypatch, log)
    state = json.loads((max(tmp_path.glob("checkpoint-*")) / DESCRIPTION).read_text())["state"]
    counted = [
        [
            sum(report.kept for epoch, report, _ in log if epoch == number),
            sum(report.unit.raw_words for epoch, report, _ in log if epoch == number),
            sum(epoch == number for epoch, _, _ in log),
        ]
        for number in range(OPTIONS["epochs"])
    ]
    assert state["finished"] == counted
    assert {raw_words for _, raw_words, _ in counted} == {sum(map(len, SENTENCES))}
    assert "resumed from" in caplog.text and "of epoch 0 is cut into" in caplog.text


def test_checkpoint_of_an_earlier_format_is_resumed_only_with_an_equal_cut(tmp_path, monkeypatch):
    """A checkpoint in the middle of an epoch, in format 4, which has the numbers of units."""
    case = CLASSES["CBOW"]
    log = []
    with monkeypatch.context() as patch:
        patch.setattr("gensim_tfw2v.unit_sizes.UNIT_ENTRIES", 2000)
        with pytest.raises(Ended):
            train_and_end(case, tmp_path, patch)
    for path in tmp_path.glob("checkpoint-*"):
        write_as_format_4(path)
    with pytest.raises(CheckpointError, match="by an earlier version of this package, which only"):
        train_in_parts(case, tmp_path, [3100], monkeypatch, log)
    assert not log
    train_in_parts(case, tmp_path, [2000], monkeypatch, log)
    whole = []
    train_in_parts(case, tmp_path / "whole", [2000], monkeypatch, whole)
    assert 0 < len(log) < len(whole)


def train_and_end(case, folder, patch):
    class_, corpus, options = case
    save = Training.save

    def save_and_end(training):
        save(training)
        if len(training.position.done) > 3:
            raise Ended

    patch.setattr(Training, "save", save_and_end)
    options = OPTIONS | options | {"checkpoint_dir": folder, "checkpoint_minutes": 1e-9}
    class_(corpus, **options)


def write_as_format_4(folder):
    """Change the description of a checkpoint to format 4."""
    path = folder / DESCRIPTION
    content = json.loads(path.read_text())
    del content["checksum"], content["state"]["n_earlier_units"]
    content["format"] = 4
    content["training"]["corpus"] = content["state"].pop("cut")["units"]
    path.write_text(json.dumps(content | {"checksum": _checksum(content)}))


def test_number_of_units_in_the_message_includes_earlier_ones(tmp_path, monkeypatch, caplog):
    with caplog.at_level(logging.INFO):
        train_in_parts(CLASSES["CBOW"], tmp_path, [2000, 3100], monkeypatch, [])
    (line,) = [line for line in caplog.messages if line.startswith("resumed from")]
    n_trained, n_units = map(int, line.split(" and ")[1].split()[:3:2])
    assert 5 <= n_trained < n_units < 30
