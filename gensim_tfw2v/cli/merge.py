"""``tfw2v merge``: models trained apart, to one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gensim_tfw2v.cli import common, model_files
from gensim_tfw2v.cli.common import Verbose, option
from gensim_tfw2v.monitor.progress import phase

if TYPE_CHECKING:
    from gensim_tfw2v import TFWord2Vec


def merge(
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL...", help=f"Models {common.READABLE}")
    ],
    output: common.Output,
    method: Annotated[
        str,
        option("alir: align and average; pca: concatenate and reduce; concat: concatenate."),
    ] = "alir",
    vector_size: Annotated[
        int | None,
        option("Dimensions of the merged vectors; by default those of the largest model.", min=1),
    ] = None,
    encoding: common.Encoding = model_files.UTF8,
    vectors: common.Vectors = None,
    binary: common.Binary = False,
    seed: Annotated[int, option("Seed of the random numbers.")] = 1,
    verbose: Verbose = False,
) -> None:
    """Merge models that were trained separately, on samples of a corpus or on several corpora.

    The merged model has the words of all models and can be trained further. If it was merged from
    vectors alone, its output layer starts at 0.
    """
    from gensim_tfw2v.merging.methods import merging_named

    merging_named(method)
    model_files.check_outputs(output, vectors, binary, models, "is to be merged")
    start = time.perf_counter()
    loaded = [model_files.load_saved(path, encoding, mapped=True) for path in models]
    with phase(f"merging {len(models)} models", None):
        from gensim_tfw2v import merge_models

        merged = merge_models(loaded, method, vector_size, seed)
    saved = list(model_files.save_model(merged, output, vectors, binary))
    rows = [("merged", f"{len(models)} models by {method}"), *_rows(merged)]
    rows.append(("time", f"{time.perf_counter() - start:.1f} s"))
    common.print_rows([*rows, *(("saved", str(path)) for path in saved)])


def _rows(merged: TFWord2Vec) -> list[tuple[str, str]]:
    """Rows of a table that describes a merge."""
    assert merged.merge_report is not None
    rows = [("vocabulary", f"{len(merged.wv):,} words x {merged.vector_size} dimensions")]
    for where, number, examples in merged.merge_report.lines():
        named = f": {', '.join(examples)}{', …' if number > len(examples) else ''}"
        rows.append(("words", f"{number:,} {where}" + (named if examples else "")))
    outputs = [
        f"{name} {'merged' if getattr(merged, name).any() else 'starts from 0'}"
        for name in ("syn1neg", "syn1")
        if hasattr(merged, name)
    ]
    return [*rows, ("outputs", ", ".join(outputs))]
