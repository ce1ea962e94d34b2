"""Subclasses that override gensim's training hooks are trained by gensim's code, with a warning."""

import logging

import numpy as np
import pytest
from gensim.models import Word2Vec
from gensim.test.utils import common_texts

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.model import THREAD_METHODS

NODES = [f"n{number}" for number in range(20)]


class Walks:
    """Like fastnode2vec's Node2Vec: the corpus holds start nodes, from which jobs draw walks."""

    def __init__(self, **options):
        super().__init__(min_count=1, vector_size=8, sg=1, epochs=1, **options)
        self.build_vocab([node] for node in NODES)

    def train(self, epochs, **others):
        nodes = ([number] * 10 for _ in range(epochs) for number in range(len(NODES)))
        return super().train(nodes, total_examples=epochs * len(NODES), epochs=1, **others)

    def _do_train_job(self, sentences, alpha, inits):
        walks = [[NODES[(walk[0] + step) % 20] for step in range(10)] for walk in sentences]
        return super()._do_train_job(walks, alpha, inits)


class TFWalks(Walks, TFWord2Vec):
    pass


class GensimWalks(Walks, Word2Vec):
    pass


def test_class_that_draws_walks_in_jobs_trains_as_in_gensim(caplog):
    ours, gensims = TFWalks(workers=1, sample=0), GensimWalks(workers=1, sample=0)
    assert ours.train(3) == gensims.train(3) == (600, 600)
    np.testing.assert_array_equal(ours.wv.vectors, gensims.wv.vectors)
    warnings = [r.getMessage() for r in caplog.records if r.name.startswith("gensim_tfw2v")]
    assert len(warnings) == 1
    assert (
        "TFWalks overrides _do_train_job, which only gensim's own training code calls"
        in warnings[0]
    )
    assert (ours.train_count, ours.wv.norms) == (1, None)


def test_file_hook_is_called_by_gensims_code(tmp_path, caplog):
    class Counted(TFWord2Vec):
        jobs = 0

        def _do_train_epoch(self, *args, **others):
            self.jobs += 1
            return super()._do_train_epoch(*args, **others)

    path = tmp_path / "corpus"
    path.write_text("a b c d\n" * 50)
    model = Counted(corpus_file=str(path), min_count=1, vector_size=4, workers=1, epochs=3)
    assert (model.jobs, caplog.text.count("overrides _do_train_epoch")) == (3, 1)
    # gensim passes progress_bar to its threads
    model.train(corpus_file=str(path), total_words=200, epochs=1, progress_bar=False)
    assert model.jobs == 4


#: Hooks that gensim calls only if it trains on a file.
OF_FILES = ("_do_train_epoch", "_worker_loop_corpusfile")


@pytest.mark.parametrize("hook", THREAD_METHODS)
def test_each_bypassed_hook_is_called_if_overridden(hook, tmp_path):
    original = getattr(Word2Vec, hook)
    called = []

    def note(self, *args, **others):
        called.append(hook)
        return original(self, *args, **others)

    model_class = type("Noting", (TFWord2Vec,), {hook: note})
    model = model_class(min_count=1, vector_size=4, workers=1)
    model.build_vocab(common_texts)
    if hook in OF_FILES:
        path = tmp_path / "corpus"
        path.write_text("".join(f"{' '.join(words)}\n" for words in common_texts))
        model.train(corpus_file=str(path), total_words=29, epochs=1)
    else:
        model.train(common_texts, total_examples=9, epochs=1)
    assert called


def test_hook_set_on_one_object_is_called():
    model = TFWord2Vec(min_count=1, vector_size=4, workers=1)
    model.build_vocab(common_texts)
    called = []

    def job(sentences, alpha, inits):
        called.append(len(sentences))
        return 0, 0

    model._do_train_job = job
    model.train(common_texts, total_examples=9, epochs=1)
    assert called == [9]


@pytest.mark.parametrize(
    "options",
    [
        {"cluster": "local:ps=1,worker=1"},
        {"regime": "downpour"},
        {"checkpoint_dir": "checkpoints"},
        {"log_dir": "log"},
        {"corrected_cbow": True},
        {"negative_shards": 2},
    ],
    ids=lambda options: next(iter(options)),
)
def test_options_unknown_to_gensims_code_raise(options, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (name,) = options
    if name != "negative_shards":  # an attribute, not an argument
        refused = f"overrides _do_train_job.*gensim's code has no {name}"
        with pytest.raises(ValueError, match=refused):
            TFWalks(**options)
    model = TFWalks()
    before = model.wv.vectors.copy()
    vars(model).update(options)
    with pytest.raises(ValueError, match=f"leave out {name}="):
        model.train(1)
    np.testing.assert_array_equal(model.wv.vectors, before)
    assert list(tmp_path.iterdir()) == []


def test_partial_fit_of_a_generator_raises_before_reading_it():
    class Own(TFWord2Vec):
        def _raw_word_count(self, job):
            return super()._raw_word_count(job)

    model = Own(min_count=1, vector_size=4, workers=1)
    with pytest.raises(TypeError, match="generator"):
        model.partial_fit(sentence for sentence in common_texts)
    assert not len(model.wv)
    assert model.partial_fit(common_texts)[1] == 29


def test_other_corpus_in_a_later_epoch_causes_a_warning(caplog):
    class Later(TFWord2Vec):
        def _train_epoch(self, data, *, cur_epoch, **others):
            return super()._train_epoch(data[cur_epoch:], cur_epoch=cur_epoch, **others)

    model = Later(min_count=1, vector_size=4, workers=1)
    model.build_vocab(common_texts)
    assert model.train(common_texts, total_examples=9, epochs=3)[1] == 3 * 29
    assert caplog.text.count("another object as the corpus than in the first epoch") == 1


def test_corpus_that_replaces_the_argument_in_each_epoch_is_trained():
    class First(TFWord2Vec):
        def _train_epoch(self, data, **others):
            return super()._train_epoch(common_texts, **others)

    model = First(min_count=1, vector_size=4, workers=1)
    model.build_vocab(common_texts)
    assert model.train(common_texts[:2], total_examples=9, epochs=2)[1] == 2 * 29


def test_unknown_keyword_of_train_raises(caplog):
    model = TFWord2Vec(min_count=1, vector_size=4)
    model.build_vocab(common_texts)
    with pytest.raises(TypeError, match="unexpected keyword argument 'progress_bar'"):
        model.train(common_texts, total_examples=9, epochs=1, progress_bar=True)


def test_overridden_scan_vocab_is_used():
    class Lower(TFWord2Vec):
        def _scan_vocab(self, sentences, progress_per, trim_rule):
            lower = ([word.lower() for word in sentence] for sentence in sentences)
            return super()._scan_vocab(lower, progress_per, trim_rule)

    model = Lower(min_count=1, vector_size=4)
    model.build_vocab([["A", "a", "B"]])
    assert model.wv.key_to_index == {"a": 0, "b": 1}


def test_overriding_other_methods_keeps_our_engine(caplog):
    class Own(TFWord2Vec):
        def _log_epoch_end(self, *args, **others):
            logging.getLogger("own").warning("an epoch has ended")
            return super()._log_epoch_end(*args, **others)

    Own(common_texts, min_count=1, vector_size=4, epochs=2)
    assert caplog.messages == ["an epoch has ended"] * 2
