"""How training scales: clusters that are run, clusters that are simulated, and their quality."""

from benchmarks.scaling.costs import Costs, Measured, fit
from benchmarks.scaling.events import Host, Simulation
from benchmarks.scaling.prediction import Corpus
from benchmarks.scaling.simulation import Layout, Work, simulate
from benchmarks.scaling.study import Question, Simulated, predict

__all__ = [
    "Corpus",
    "Costs",
    "Host",
    "Layout",
    "Measured",
    "Question",
    "Simulated",
    "Simulation",
    "Work",
    "fit",
    "predict",
    "simulate",
]
