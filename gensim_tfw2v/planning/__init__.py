"""What a training will take, before it is begun: bytes on the wire, memory, time."""

from gensim_tfw2v.planning.advice import Choice, Machines, compare
from gensim_tfw2v.planning.traffic import column_bytes, distinct_rows, row_bytes, target_bytes
from gensim_tfw2v.planning.workload import Frequencies, Workload

__all__ = [
    "Choice",
    "Frequencies",
    "Machines",
    "Workload",
    "column_bytes",
    "compare",
    "distinct_rows",
    "row_bytes",
    "target_bytes",
]
