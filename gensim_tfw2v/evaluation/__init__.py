"""Quality of vectors: word similarity, analogies, agreement of neighbours, and nodes of graphs.

All functions accept a gensim ``KeyedVectors``, so vectors from any tool can be evaluated and
compared.
"""

import os
from collections.abc import Iterable
from typing import Any

from gensim.models import KeyedVectors

from gensim_tfw2v.evaluation import analogies
from gensim_tfw2v.evaluation.analogies import AnalogyScore, SectionScore, evaluate_analogies
from gensim_tfw2v.evaluation.edge_split import split_edges
from gensim_tfw2v.evaluation.link_prediction import LinkScore, evaluate_edges
from gensim_tfw2v.evaluation.node_labels import F1Score, LabelScore, evaluate_labels
from gensim_tfw2v.evaluation.sets import EvaluationFileError, file_kind, read_pairs
from gensim_tfw2v.evaluation.similarity import (
    NAMED_SETS,
    NeighbourAgreement,
    PairScore,
    evaluate_pairs,
    neighbour_agreement,
)
from gensim_tfw2v.keyed import with_keys

__all__ = [
    "NAMED_SETS",
    "AnalogyScore",
    "EvaluationFileError",
    "F1Score",
    "LabelScore",
    "LinkScore",
    "NeighbourAgreement",
    "PairScore",
    "SectionScore",
    "evaluate_analogies",
    "evaluate_edges",
    "evaluate_labels",
    "evaluate_pairs",
    "neighbour_agreement",
    "read_pairs",
    "split_edges",
    "summary",
]


def summary(
    vectors: KeyedVectors,
    files: Iterable[str | os.PathLike[str]] = (),
    *,
    standard: bool | None = None,
    labels: str | os.PathLike[str] | None = None,
    edges: str | os.PathLike[str] | None = None,
    known_edges: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Evaluate vectors on the standard sets and on your own files.

    Parameters
    ----------
    vectors : KeyedVectors
        V words of D dimensions, the most frequent first.
    files : str, path or iterable of them
        Files of rated word pairs or of analogies; the kind is detected from the content.
    standard : bool, optional
        Also evaluate on WordSim-353, SimLex-999 and the analogies of Mikolov et al. (2013). By
        default, unless there are `labels` or `edges`.
    labels : str or path, optional
        File of the labels of nodes, for `evaluate_labels`.
    edges, known_edges : str or path, optional
        Files of held-out edges and of the remaining edges of a graph, for `evaluate_edges`.

    Returns
    -------
    dict
        ``{"words": V, "vector_size": D, "pairs": {set: {"spearman": …, …}},
        "analogies": {set: {"gensim": {"total": …, …}, "all": {…}}}}``, ready for ``json.dumps``:
        the values of `PairScore` and, for both metrics, of `AnalogyScore`. With `labels` or `edges`
        also ``"labels": {file: {…}}`` and ``"edges": {file: {…}}``: the values of `LabelScore` and
        of `LinkScore`.

    Raises
    ------
    EvaluationFileError
        If a file is empty or damaged, or has a line that is neither a pair nor an analogy.
    ValueError
        If no node of `labels` or `edges` has a vector, or they are too few.
    OSError
        If a file cannot be read.
    """
    vectors = with_keys(vectors)
    if standard is None:
        standard = labels is None and edges is None
    pair_sets = list(NAMED_SETS) if standard else []
    analogy_sets = list(analogies.NAMED_SETS) if standard else []
    for file in [files] if isinstance(files, str | os.PathLike) else files:
        sets = analogy_sets if file_kind(file) == "analogies" else pair_sets
        sets.append(os.fspath(file))
    pair_scores = {name: evaluate_pairs(vectors, name).to_dict() for name in pair_sets}
    analogy_scores: dict[str, dict[str, Any]] = {}
    for name in analogy_sets:
        analogy_scores[name] = {
            "gensim": evaluate_analogies(vectors, name, metric="gensim").to_dict(),
            "all": evaluate_analogies(vectors, name, metric="all").to_dict(),
        }
    result: dict[str, Any] = {
        "words": len(vectors),
        "vector_size": vectors.vector_size,
        "pairs": pair_scores,
        "analogies": analogy_scores,
    }
    if labels is not None:
        result["labels"] = {os.fspath(labels): evaluate_labels(vectors, labels).to_dict()}
    if edges is not None:
        score = evaluate_edges(vectors, edges, known_edges=known_edges)
        result["edges"] = {os.fspath(edges): score.to_dict()}
    return result
