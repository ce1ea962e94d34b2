"""Commands that write files from files: ``merge``, ``convert`` and ``index``."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gensim_tfw2v.cli import common, formats, model_files
from gensim_tfw2v.cli.common import Verbose, option
from gensim_tfw2v.messages import require
from gensim_tfw2v.monitor.progress import phase
from gensim_tfw2v.weight_tables import OUTPUT_LAYER

if TYPE_CHECKING:
    from gensim_tfw2v import TFWord2Vec


def merge(
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL...", help=f"Models {common.READABLE}")
    ],
    output: common.Output,
    method: Annotated[
        str, option("alir: align and average; pca: concatenate and reduce; concat: concatenate.")
    ] = "alir",
    vector_size: Annotated[
        int | None,
        option("Dimensions of the merged vectors; by default those of the largest model.", min=1),
    ] = None,
    encoding: common.Encoding = model_files.UTF8,
    vectors: common.Vectors = None,
    binary: common.Binary = False,
    seed: Annotated[int, option("Seed of the random numbers.", min=0, max=2**32 - 1)] = 1,
    verbose: Verbose = False,
) -> None:
    """Merge models that were trained separately, on samples of a corpus or on several corpora.

    The merged model has the words of all models and can be trained further. If a MODEL is only
    vectors, the output layer starts from 0.
    """
    from gensim_tfw2v.merging.methods import find_method

    find_method(method)
    formats.check_model_name(output)
    model_files.check_outputs(
        output, vectors, binary, dict.fromkeys(models, "is one of the inputs")
    )
    start = time.perf_counter()
    inputs = [model_files.load_saved(path, encoding) for path in models]
    for path, model in zip(models, inputs, strict=True):
        merged_vectors = model_files.trained_vectors(model, path)
        if hasattr(model, "dv") or formats.has_ngrams(merged_vectors):
            model_files.notify(path, ["only its vectors of words are merged"])
    with phase(f"merging {len(models)} models", None):
        from gensim_tfw2v import merge_models

        merged = merge_models(inputs, method, vector_size, seed)
    saved = list(model_files.save_model(merged, output, vectors, binary))
    rows = [("merged", f"{len(models)} models by {method}"), *_describe_merge(merged)]
    rows.append(("time", f"{time.perf_counter() - start:.1f} s"))
    common.print_rows(rows, saved)


def convert(
    model: common.Model,
    out: Annotated[Path | None, typer.Argument(metavar="OUT", help="File to write.")] = None,
    output: Annotated[Path | None, option("Alternative to OUT.", "--output", "-o")] = None,
    to: Annotated[
        str | None,
        option(
            "gensim: KeyedVectors; text, binary: word2vec's; numpy: .npz of words, vectors; "
            "fasttext: .bin of a FastText model; keras: word lookup and Embedding; "
            "pretrained: a folder with the full model, as on the Hugging Face Hub; "
            "sentence-transformers: such a folder of only vectors. By default by suffix (.kv, "
            ".txt, .bin, .npz, .keras)."
        ),
    ] = None,
    words: Annotated[int | None, option("Number of words to keep, the first ones.", min=1)] = None,
    documents: common.Documents = False,
    half: Annotated[bool, option("Write numbers as float16 (numpy).", "--half")] = False,
    encoding: common.Encoding = model_files.UTF8,
    verbose: Verbose = False,
) -> None:
    """Convert vectors, or the vectors of a model, to another format."""
    if (output := output or out) is None or out not in (None, output):
        raise common.BadInput("give exactly one file to write: tfw2v convert MODEL OUT")
    form = formats.find_format(output, to, "gensim")
    if half and not form.can_hold_float16:
        raise common.BadInput("--half works only with --to numpy: the other formats hold float32")
    if form.is_folder and output.exists():
        raise common.BadInput(f"{output}: already exists; give a new folder")
    model_files.check_outputs(output, None, False, {model: "is the input"})
    saved = model_files.load_saved(model, encoding)
    vectors = model_files.vectors_of(saved, model, documents)
    classes = [base.__name__ for base in type(saved).__mro__]
    if form.model_class and (words or documents or form.model_class not in classes):
        raise common.BadInput(
            f"{form.name} holds only a full {form.model_class} model, with all words"
        )

    import numpy as np

    from gensim_tfw2v.files.mapped import take_rows
    from gensim_tfw2v.keyed import first_of_fasttext, keyed, keyed_like
    from gensim_tfw2v.row_blocks import find_nonfinite_rows

    rows = vectors.vectors[:words]
    dtype = np.float16 if half else np.float32
    if rows.dtype != dtype:
        with np.errstate(over="ignore"):  # an overflow makes infinite elements, which raise below
            rows = take_rows(rows, dtype=dtype)
        if len(find_nonfinite_rows(rows)):
            raise common.BadInput(
                "--half: numbers above 65504 are too large for float16; leave it out"
            )
    if form.keeps_ngrams and hasattr(vectors, "vectors_ngrams"):
        kept_vectors: Any = first_of_fasttext(vectors, words)
    elif words is None:
        kept_vectors = keyed_like(vectors, rows)
    else:
        kept_vectors = keyed(vectors.index_to_key[:words], rows)
    if "count" in vectors.expandos:
        kept_vectors.expandos["count"] = vectors.expandos["count"][:words]
    formats.check_holds(form, kept_vectors, output)
    model_files.notify(output, model_files.list_omissions(form, saved, output, documents))
    contents = saved if form.model_class else kept_vectors
    model_files.save_atomically(output, partial(form.write, contents))
    common.print_rows([("saved", f"{output}: {len(rows):,} words x {rows.shape[1]} dimensions")])


def index(
    model: common.Model,
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="File to write, and OUT.json, with the words.")
    ],
    dtype: Annotated[
        str, option("Type of the stored vectors: int8, bfloat16, float32 or binary (signs).")
    ] = "int8",
    connectivity: Annotated[int, option("Edges per vector.", min=2)] = 16,
    expansion_add: Annotated[int, option("Candidates while a vector is added.", min=1)] = 128,
    expansion_search: Annotated[
        int | None,
        option("Candidates of a search: more find more neighbours, in more time.", min=1),
    ] = None,
    workers: Annotated[
        int | None, option("Number of threads; by default one per core.", min=1)
    ] = None,
    documents: common.Documents = False,
    encoding: common.Encoding = model_files.UTF8,
    verbose: Verbose = False,
) -> None:
    """Build an index of nearest neighbours, for `neighbours --index` and gensim's `indexer`."""
    require("tfw2v index", "usearch")
    paths = [output.with_name(f"{output.name}.json"), output]
    for path in paths:
        model_files.check_outputs(path, None, False, {model: "is the input"})
    start = time.perf_counter()
    saved = model_files.load_saved(model, encoding)
    vectors = model_files.trained_vectors(saved, model, documents)
    from gensim_tfw2v.neighbours.index_files import check_keys
    from gensim_tfw2v.neighbours.neighbour_index import NeighbourIndex

    try:
        check_keys(vectors.index_to_key)  # checked first, because building takes minutes
    except TypeError as error:
        raise common.BadInput(f"{model}: {error}") from error
    neighbour_index = NeighbourIndex(
        vectors, dtype, connectivity, expansion_add, expansion_search, workers
    )
    with phase(f"saving {output}", None):
        neighbour_index.save(output)
    description = f"{len(vectors):,} words x {vectors.vector_size} dimensions as {dtype}"
    duration = f"{time.perf_counter() - start:.1f} s"
    common.print_rows([("index", description), ("time", duration)], paths)


def _describe_merge(merged: TFWord2Vec) -> list[tuple[str, str]]:
    """Return the lines of output that describe a merge: a label and a text for each."""
    assert merged.merge_report is not None
    rows = [("vocabulary", f"{len(merged.wv):,} words x {merged.vector_size} dimensions")]
    for label, n_words, examples in merged.merge_report.lines():
        example_text = f": {', '.join(examples)}{', …' if n_words > len(examples) else ''}"
        rows.append(("words", f"{n_words:,} {label}" + (example_text if examples else "")))
    outputs = [
        f"{array.name} {'merged' if getattr(merged, array.name).any() else 'starts from 0'}"
        for array in OUTPUT_LAYER
        if hasattr(merged, array.name)
    ]
    return [*rows, ("outputs", ", ".join(outputs))]
