"""Who trains which work unit when, and when updates meet."""

from gensim_tfw2v.regimes.base import Regime, UnitReport
from gensim_tfw2v.regimes.local import LocalRegime
from gensim_tfw2v.regimes.tables import Tables

__all__ = ["LocalRegime", "Regime", "Tables", "UnitReport"]
