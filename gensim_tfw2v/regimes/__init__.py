"""Who trains which work unit when, and when updates meet."""

from gensim_tfw2v.regimes.base import ClusterLost, Regime, UnitReport, UnitTask
from gensim_tfw2v.regimes.chosen import make_in_process
from gensim_tfw2v.regimes.combining import pair_rates
from gensim_tfw2v.regimes.coordinated import CoordinatedRegime
from gensim_tfw2v.regimes.coordinator import ClusterSetup
from gensim_tfw2v.regimes.local import LocalRegime
from gensim_tfw2v.regimes.options import RegimeOptions, SubModels, parse_regime
from gensim_tfw2v.regimes.parameter_server import Setup
from gensim_tfw2v.regimes.sub_model_plan import SubModelPlan, file_of
from gensim_tfw2v.regimes.tables import Tables
from gensim_tfw2v.regimes.traffic import Traffic
from gensim_tfw2v.regimes.workers import LocalWorkers

__all__ = [
    "ClusterLost",
    "ClusterSetup",
    "CoordinatedRegime",
    "SubModelPlan",
    "LocalRegime",
    "LocalWorkers",
    "Regime",
    "RegimeOptions",
    "Setup",
    "SubModels",
    "Tables",
    "Traffic",
    "UnitReport",
    "UnitTask",
    "file_of",
    "make_in_process",
    "pair_rates",
    "parse_regime",
]
