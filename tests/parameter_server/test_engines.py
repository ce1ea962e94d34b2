"""Choice of an engine, and what each loads."""

import os
import subprocess
import sys
from dataclasses import dataclass, replace

import pytest
from gensim.test.utils import common_texts

from gensim_tfw2v import TFDoc2Vec, TFWord2Vec, engines
from gensim_tfw2v.engines.compiled import CompiledEngine
from gensim_tfw2v.engines.problem import Problem
from gensim_tfw2v.engines.tensorflow import TensorFlowEngine
from gensim_tfw2v.kernel.objective import Objective
from gensim_tfw2v.kernel.sizes import kernels_can_train
from gensim_tfw2v.ops.library import load_ops
from gensim_tfw2v.training.training_plan import Plan
from tests.engines import train_by_graph

compiled = pytest.mark.skipif(load_ops() is None, reason="the compiled kernels are missing")

#: Program that Python runs at the start of each process. It records imports of the TensorFlow
#: fallback and of jobs.
RECORDER = """
import os, sys

class Recorder:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("gensim_tfw2v.graph", "gensim_tfw2v.parameter_server")):
            with open(os.environ["TFW2V_TEST_IMPORTS"], "a") as file:
                file.write(f"{os.getpid()} {name}\\n")

sys.meta_path.insert(0, Recorder())
"""

TRAINING = """
import os
from gensim.test.utils import common_texts
from gensim_tfw2v import TFWord2Vec
if __name__ == "__main__":
    print(os.getpid())
    TFWord2Vec(common_texts, min_count=1, vector_size=4, epochs=1, cluster="local:ps=1,worker=1")
"""


def problem(made=TFWord2Vec, **options):
    return Problem(made(**options)._current_config(), n_words=10, tokens=1000, window=5, pairs=6)


@compiled
def test_kernels_train_rows_and_whole_units():
    cluster = "local:ps=1,worker=1"
    assert isinstance(engines.choose_engine(problem(cluster=cluster)), CompiledEngine)
    for options in {"layout": "columns", "cluster": cluster}, {"regime": "downpour"}:
        assert isinstance(engines.choose_engine(problem(**options)), TensorFlowEngine)


@compiled
def test_engines_are_tried_in_the_order_of_the_table(monkeypatch):
    monkeypatch.setattr(engines, "ENGINES", engines.ENGINES[::-1])
    assert isinstance(engines.choose_engine(problem(regime="asynchronous")), TensorFlowEngine)


def test_training_that_only_kernels_can_do_raises_without_them(monkeypatch):
    train_by_graph(monkeypatch)
    with pytest.raises(RuntimeError, match="Doc2Vec is trained only by the compiled kernels"):
        engines.choose_engine(problem(TFDoc2Vec, regime="asynchronous"))


def test_rows_of_the_fallback_are_not_sent_in_int8():
    engine = TensorFlowEngine(None)
    assert [engine.wire_dtype(wire) for wire in ("int8", "bfloat16", "float32")] == [
        *("bfloat16", "bfloat16", "float32")
    ]
    assert CompiledEngine(None, 10).wire_dtype("int8") == "int8"


@compiled
def test_new_engine_is_a_class_and_a_row_of_the_table(monkeypatch, caplog):
    monkeypatch.setattr(engines, "ENGINES", ("tests.engines:LoggingEngine", *engines.ENGINES))
    with caplog.at_level("INFO", "gensim_tfw2v"):
        TFWord2Vec(common_texts, min_count=1, vector_size=7, epochs=1, regime="asynchronous")
    assert "a unit of D = 7" in caplog.text


@compiled
def test_options_of_the_engines_agree():
    both = [
        engine.from_problem(replace(problem(window=7), loss_every=1))
        for engine in (CompiledEngine, TensorFlowEngine)
    ]
    kernel_options, step_options = (engine.options for engine in both)
    assert kernel_options.max_window == step_options.max_window == 7
    assert kernel_options.skip_targets == step_options.skip_targets
    assert all(engine.shape.block > 0 and engine.shape.shared > 0 for engine in both)


@dataclass(frozen=True)
class Smoothed(Objective):
    """Objective with a field that the kernels lack."""

    smoothing: float = 0.0


def test_objective_with_a_field_that_the_kernels_lack_is_trained_by_the_fallback():
    assert kernels_can_train(Smoothed(True, 5))
    options = replace(
        problem(regime="asynchronous").options, objective=Smoothed(True, 5, smoothing=0.1)
    )
    assert not kernels_can_train(options.objective)
    assert isinstance(engines.choose_engine(replace(problem(), options=options)), TensorFlowEngine)
    assert not Plan(replace(options, regime=None), vocabulary=None, corpus=None).shares_rows


#: Fields of the configuration that only the compiled kernels read: those of FastText and Doc2Vec.
KERNELS_ONLY = {"has_documents", "dbow_words", "concatenated"}


class Recorded:
    """Configuration that records the names of the fields that are read."""

    def __init__(self, config):
        self.config, self.names = config, set()

    def __getattr__(self, name):
        self.names.add(name)
        return getattr(self.config, name)


@compiled
def test_fallback_reads_each_option_that_the_kernels_read():
    """An option that the fallback does not read would be ignored where it trains."""
    of_kernels, of_steps = (Recorded(problem(regime="asynchronous").options) for _ in range(2))
    CompiledEngine.from_problem(replace(problem(), options=of_kernels))
    TensorFlowEngine.from_problem(replace(problem(), options=of_steps))
    assert of_kernels.names - of_steps.names <= KERNELS_ONLY


@compiled
def test_cluster_of_kernels_imports_nothing_of_the_fallback(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(RECORDER)
    (tmp_path / "training.py").write_text(TRAINING)
    record = tmp_path / "imports"
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": path, "TFW2V_TEST_IMPORTS": str(record)}
    ran = subprocess.run(
        [sys.executable, tmp_path / "training.py"],
        env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert not ran.returncode, ran.stderr
    imports = [line.split() for line in record.read_text().splitlines()]
    # the coordinator is a separate process
    assert any(pid != ran.stdout.strip() for pid, name in imports if name.endswith(".job"))
    assert not [name for _, name in imports if name.startswith("gensim_tfw2v.graph")]
