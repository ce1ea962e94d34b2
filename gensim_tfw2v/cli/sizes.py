"""Memory and CPUs of the tasks of a cluster, estimated for the training that it is for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gensim_tfw2v.cluster.manifests import Sizes


def estimated_sizes(
    training: Mapping[str, Any], ps: int, workers: int, vocab: int, tokens: str
) -> Sizes:
    """Estimate what tasks need, as ``tfw2v plan`` does.

    Parameters
    ----------
    training : mapping
        The options of ``tfw2v train``.
    ps, workers : int
        How many tasks.
    vocab : int
        Words of the vocabulary.
    tokens : str
        Words of the corpus.

    Raises
    ------
    BadInput
        If `tokens` is no number.
    ValueError
        If the training's regime is none.
    """
    from gensim_tfw2v.cli.plan import quantity
    from gensim_tfw2v.cluster.manifests import Size, Sizes
    from gensim_tfw2v.planning import Machines, Workload, compare, ps_cores, task_memory
    from gensim_tfw2v.regimes.options import parse_regime

    words, dim, threads = (
        quantity(tokens, "", "--tokens"), training["vector_size"], training["workers"],
    )  # fmt: skip
    work = Workload.of_text(
        vocab, words, dim, training["window"], max(1, training["negative"]), training["sg"],
        training["sample"],
    )  # fmt: skip
    regime = parse_regime(training["regime"] or "asynchronous")
    name = "columns" if training["layout"] == "columns" else "rows, asynchronous"
    if regime.trains_apart:
        name = "sub-models"
    choices = {one.name: one for one in compare(work, words, Machines(workers, ps, threads))}
    more = {} if regime.copies is None else {"copies": regime.copies}
    memory = task_memory(work, choices[name], threads, **more)
    return Sizes(
        Size(ps_cores(choices[name]), memory.ps),
        Size(threads, memory.worker),
        Size(2, memory.coordinator),
        basis=f"Memory is for {vocab:,} words of {dim} numbers: --vocab says how many there are, "
        f"and\n--tokens how long the corpus is, {words:,.0f} words.",
    )
