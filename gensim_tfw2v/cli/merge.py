"""``tfw2v merge``: models trained apart, to one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gensim_tfw2v.cli.failures import BadInput, Verbose

if TYPE_CHECKING:
    from gensim_tfw2v import TFWord2Vec


def merge(
    models: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL...", help="Models or vectors, in any form that `evaluate` reads."
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to save the model (gensim's form).")
    ],
    method: Annotated[
        str,
        typer.Option(
            help="alir: turned onto each other; pca: side by side, projected; concat: side by side."
        ),
    ] = "alir",
    vector_size: Annotated[
        int | None,
        typer.Option(
            help="Dimensions of the merged vectors; by default those of the largest model.", min=1
        ),
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option(help="Also write the vectors alone, in word2vec's text form."),
    ] = None,
    binary: Annotated[
        bool, typer.Option("--binary", help="Write --vectors in binary form.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 1,
    verbose: Verbose = False,
) -> None:
    """Merge models that were trained apart, on samples of a corpus or on several corpora.

    The merged model has the words of all. It can be trained on: merged from whole models, it goes
    on where they ended; from vectors alone, its output layer starts from 0.
    """
    import time

    from gensim_tfw2v.cli import model_files as saving
    from gensim_tfw2v.cli.model_files import load_saved
    from gensim_tfw2v.merging.methods import merging_named

    merging_named(method)
    if binary and vectors is None:
        raise BadInput("--binary is the form of --vectors; give --vectors FILE too")
    if vectors is not None and vectors.resolve() == output.resolve():
        raise BadInput(f"{vectors}: named by both --output and --vectors")
    for path in (output, vectors):
        if path is not None:
            saving.check_can_save(path)
            if path.resolve() in [model.resolve() for model in models]:
                raise BadInput(f"{path}: is to be merged; give the output another name")
    start = time.perf_counter()
    loaded = [load_saved(path, mapped=True) for path in models]

    from gensim_tfw2v.monitor.progress import phase

    with phase(f"merging {len(models)} models", None):
        from gensim_tfw2v import merge_models

        merged = merge_models(loaded, method, vector_size, seed)
    saved = saving.save_whole(output, merged.save)
    if vectors is not None:
        saved += saving.save_whole(
            vectors, lambda name: merged.wv.save_word2vec_format(name, binary=binary)
        )
    _print(merged, method, time.perf_counter() - start, saved)


def _print(merged: TFWord2Vec, method: str, seconds: float, saved: list[Path]) -> None:
    report = merged.merge_report
    assert report is not None
    outputs = [
        f"{name} merged" if getattr(merged, name).any() else f"{name} starts from 0"
        for name in ("syn1neg", "syn1")
        if hasattr(merged, name)
    ]
    rows = [
        ("merged", f"{report.models} models by {method}"),
        ("vocabulary", f"{len(merged.wv):,} words x {merged.vector_size} dimensions"),
    ]
    for where, number, examples in report.lines():
        named = f": {', '.join(examples)}{', …' if number > len(examples) else ''}"
        rows.append(("words", f"{number:,} {where}" + (named if examples else "")))
    rows += [
        ("outputs", ", ".join(outputs)),
        ("time", f"{seconds:.1f} s"),
        *(("saved", str(path)) for path in saved),
    ]
    for name, value in rows:
        print(f"{name:<11}{value}")
