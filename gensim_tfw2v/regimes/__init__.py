"""Who trains which work unit when, and when updates meet."""

from gensim_tfw2v.regimes.base import ClusterLost, Regime, UnitReport
from gensim_tfw2v.regimes.combining import pair_rates
from gensim_tfw2v.regimes.coordinated import CoordinatedRegime
from gensim_tfw2v.regimes.coordinator import Setup
from gensim_tfw2v.regimes.local import LocalRegime
from gensim_tfw2v.regimes.tables import Tables
from gensim_tfw2v.regimes.traffic import Traffic

__all__ = [
    "ClusterLost",
    "CoordinatedRegime",
    "LocalRegime",
    "Regime",
    "Setup",
    "Tables",
    "Traffic",
    "UnitReport",
    "pair_rates",
]
