"""How training scales: clusters that are run, clusters that are simulated, and their quality."""

from gensim_tfw2v.scaling.costs import Costs, Measured, fit
from gensim_tfw2v.scaling.events import Host, Simulation
from gensim_tfw2v.scaling.prediction import Corpus
from gensim_tfw2v.scaling.simulation import Layout, Work, simulate
from gensim_tfw2v.scaling.study import Question, Simulated, predict

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
