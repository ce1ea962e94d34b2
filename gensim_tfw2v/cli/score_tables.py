"""Tables of the scores that ``tfw2v evaluate`` prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gensim_tfw2v.cli.common import print_table

#: Accuracies on analogies: attributes of `AnalogyScore`, and headings of the printed table.
ACCURACIES = ("total", "semantic", "syntactic")


def print_scores(result: dict[str, Any]) -> None:
    """Print all scores of one model, a table for each kind of evaluation."""
    _print_pairs(result["pairs"])
    _print_analogies(result["analogies"])
    _print_labels(result.get("labels", {}))
    _print_edges(result.get("edges", {}))


def _print_pairs(scores: dict[str, Any]) -> None:
    """Print a table of word pairs, with a row for each file."""
    rows = []
    for file, score in scores.items():
        rows.append(
            [
                Path(file).name,
                _format_score(score["spearman"], 3),
                _format_score(score["pearson"], 3),
                f"{score['used']:,} of {score['pairs']:,}",
                f"{score['oov_ratio']:.1%}",
            ]
        )
    if rows:
        print_table(["word similarity", "Spearman", "Pearson", "pairs", "unknown"], rows)


def _print_analogies(scores: dict[str, Any]) -> None:
    """Print a table of analogies, with a row for each file and metric."""
    rows = []
    for file, metrics in scores.items():
        for metric, score in metrics.items():
            questions = "known" if metric == "gensim" else metric
            accuracies = [f"{score[name]:.1%}" for name in ACCURACIES]
            rows.append([Path(file).name, questions, *accuracies, f"{score['counted']:,}"])
    if rows:
        print_table(["analogies solved", "questions", *ACCURACIES, "number"], rows)


def _print_labels(scores: dict[str, Any]) -> None:
    """Print a table of the labels of nodes, with a row for each share of training nodes."""
    headings = ["node labels", "training nodes", "micro F1", "macro F1", "nodes", "unlabelled"]
    for file, score in scores.items():
        rows = []
        for f1 in score["f1"]:
            rows.append(
                [
                    Path(file).name,
                    f"{f1['train_share']:.0%}",
                    _format_score(f1["micro"], 3),
                    _format_score(f1["macro"], 3),
                    f"{score['used']:,} of {score['nodes']:,}",
                    f"{score['unlabelled']:,}",
                ]
            )
        print_table(headings, rows)


def _print_edges(scores: dict[str, Any]) -> None:
    """Print a table of held-out edges, with a row for each way to score a pair of nodes."""
    for file, score in scores.items():
        n_edges = f"{score['used']:,} of {score['edges']:,}"
        without_vector = f"{score['without_vector']:,}"
        rows = [
            [Path(file).name, name, _format_score(area, 3), n_edges, without_vector]
            for name, area in score["auc"].items()
        ]
        print_table(["held-out edges", "score", "AUC", "edges", "without vector"], rows)


def scores_row(result: dict[str, Any]) -> dict[str, str]:
    """Return a model's row in the table of several models: its size, and all scores."""
    scores = {name: score["spearman"] for name, score in result["pairs"].items()}
    for name, metrics in result["analogies"].items():
        scores[name] = metrics["gensim"]["total"]
        scores[f"{name} (all)"] = metrics["all"]["total"]
    for score in result.get("labels", {}).values():
        for f1 in score["f1"]:
            scores[f"micro F1 {f1['train_share']:.0%}"] = f1["micro"]
            scores[f"macro F1 {f1['train_share']:.0%}"] = f1["macro"]
    for score in result.get("edges", {}).values():
        scores |= {f"AUC {name}": area for name, area in score["auc"].items()}
    if "held_out_loss" in result:
        scores["held_out_loss"] = result["held_out_loss"]
    row = {name: str(result[name]) for name in ("words", "vector_size")}
    return row | {name: _format_score(score, 4) for name, score in scores.items()}


def _format_score(score: float | None, digits: int) -> str:
    """Return a score with `digits` decimals as text; "-" for an undefined score (None)."""
    return "-" if score is None else f"{score:.{digits}f}"
