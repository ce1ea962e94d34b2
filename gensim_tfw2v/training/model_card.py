"""Model card of a pretrained folder: a README with size, options and results."""

from collections.abc import Mapping
from typing import Any

from gensim_tfw2v.options.hyperparameters import hyperparameters

CARD = "README.md"


def write_card(model: Any, results: Mapping[str, float]) -> str:
    """Return a model card in Markdown, with the results of an evaluation."""
    vectors = getattr(model, "wv", model)
    kind = type(model).__name__
    lines = ["---", "library_name: gensim-tfw2v", "tags: [sentence-transformers, model2vec]", "---"]
    lines += [f"# {kind}: {len(vectors):,} words, {vectors.vector_size} dimensions", ""]
    tables: dict[str, Mapping[str, Any]] = {"evaluation": results}
    if vectors is not model:
        lines += [f"`gensim_tfw2v.{kind}.from_pretrained` loads the model to train it further.", ""]
        tables["option"] = hyperparameters(model, model.corpus_total_words)
        if model.best_score is not None:
            tables["evaluation"] = {"early stopping": model.best_score, **results}
    for name, table in tables.items():
        rows = [f"| {key} | {value} |" for key, value in table.items()]
        lines += [f"| {name} | value |", "|---|---|", *rows, ""] if rows else []
    return "\n".join(lines)
