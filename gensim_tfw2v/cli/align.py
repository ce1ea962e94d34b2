"""Commands that compare models of time slices: ``align`` and ``changes``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gensim_tfw2v.cli import common, formats, model_files
from gensim_tfw2v.cli.common import BadInput, Verbose, option
from gensim_tfw2v.files.temporary import why_unwritable
from gensim_tfw2v.messages import quoted
from gensim_tfw2v.monitor.progress import phase

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

    from gensim_tfw2v import TFWord2Vec

Models = Annotated[
    list[Path],
    typer.Argument(
        metavar="MODEL...", help=f"Models of the slices, in their order: models {common.READABLE}"
    ),
]


def align(
    paths: Models,
    output_dir: Annotated[
        Path, option("Folder for the aligned models, which keep their names.", "--output-dir", "-o")
    ],
    encoding: common.Encoding = model_files.UTF8,
    verbose: Verbose = False,
) -> None:
    """Rotate models, each to the one before it, so that their vectors can be compared.

    Full models are saved in gensim's format; vectors in the format of their suffix, or without a
    suffix in gensim's.
    """
    outputs = [output_dir / path.name for path in paths]
    if len(set(outputs)) < len(outputs):
        name = next(path.name for path in outputs if outputs.count(path) > 1)
        raise BadInput(
            "models of the same name would overwrite each other: two are named "
            f"{name}; rename one of them"
        )
    if output_dir.exists() and not output_dir.is_dir():
        raise BadInput(f"{output_dir}: is a file; give a folder")
    if len(paths) < 2:
        raise BadInput(f"{paths[0]} is the only MODEL; give at least two, in their order")
    if reason := why_unwritable(output_dir):
        raise BadInput(f"{output_dir}: cannot be written to ({reason}); give a different folder")
    if output_dir.is_dir():
        inputs = dict.fromkeys(paths, "is one of the inputs")
        for output in outputs:
            model_files.check_outputs(output, None, False, inputs)
    models = [model_files.load_saved(path, encoding) for path in paths]
    for path, model in zip(paths, models, strict=True):
        model_files.trained_vectors(model, path)
    writers = [_find_writer(output, model) for output, model in zip(outputs, models, strict=True)]
    with phase(f"aligning {len(paths)} models", None):
        from gensim_tfw2v import align_models

        aligned_models: list[Any] = align_models(models)
    saved = []
    output_dir.mkdir(parents=True, exist_ok=True)
    for output, write, model in zip(outputs, writers, aligned_models, strict=True):
        saved += model_files.save_atomically(output, partial(write, model))
    common.print_rows([("aligned", f"{len(paths)} models to {paths[0]}")], saved)


def _find_writer(output: Path, model: Any) -> Callable[[Any, Any], object]:
    """Return the function that writes a model, or vectors in the format of the file's suffix."""
    gensim = formats.KNOWN["gensim"]
    if hasattr(model, "wv"):
        formats.check_model_name(output)
        return gensim.write
    form = formats.find_format(output, None, gensim.name)
    formats.check_holds(form, model, output)
    model_files.notify(output, model_files.list_omissions(form, model, output))
    return form.write


def changes(
    paths: Models,
    words: Annotated[
        list[str] | None,
        option("Word to show, instead of the most changed. May be repeated.", "-w", "--word"),
    ] = None,
    n_words: Annotated[int, option("Number of most changed words.", "-n", "--number", min=1)] = 10,
    among: Annotated[
        int, option("Choose them from this many words, the first in all models.", min=1)
    ] = 10_000,
    n_neighbours: Annotated[
        int, option("Neighbours per word and model.", "--neighbours", min=1)
    ] = 5,
    encoding: common.Encoding = model_files.UTF8,
    verbose: Verbose = False,
) -> None:
    """Print how words change between aligned models: by `align`, or `train --compass`.

    Each line shows the cosine similarity of a word's vector in a MODEL to its vectors in the first
    and in the previous MODEL, and its nearest neighbours. The most changed words have the lowest
    similarity between the first and the last MODEL.
    """
    if len(paths) < 2:
        raise BadInput(f"{paths[0]} is the only MODEL; give at least two, whose words are compared")
    models = [model_files.load_vectors(path, encoding) for path in paths]
    from gensim_tfw2v import self_similarities

    keys = [_find_key(word, models) for word in words or ()]
    unknown = [word for word, key in zip(words or (), keys, strict=True) if key is None]
    if unknown:
        raise BadInput(f"in none of the models: {', '.join(map(quoted, unknown))}; see tfw2v info")
    similarities = self_similarities(models, keys or None)
    if not similarities:
        raise BadInput("the models have no word in common; give models of the same language")
    if not words:
        candidates = list(similarities)[:among]
        most_changed = sorted(candidates, key=lambda word: similarities[word][0, -1])[:n_words]
        similarities = {word: similarities[word] for word in most_changed}
    rows = [
        [
            str(word),
            path.name,
            *_format_similarities(matrix, index),
            _join_neighbours(vectors, word, n_neighbours),
        ]
        for word, matrix in similarities.items()
        for index, (path, vectors) in enumerate(zip(paths, models, strict=True))
    ]
    common.print_table(["word", "model", "first", "previous", "neighbours"], rows)


def _format_similarities(matrix: Any, index: int) -> list[str]:
    """Return a word's similarities between model `index` and the first, and the previous, model.

    `matrix` [models, models] contains the similarities of all pairs. Model 0 has no previous model,
    so its row shows "-".
    """
    return [f"{matrix[index, reference]:.4f}" if index else "-" for reference in (0, index - 1)]


def _find_key(word: str, models: list[KeyedVectors]) -> Any:
    """Return the key of a typed word in the first model that contains the word, or None."""
    from gensim_tfw2v.typed_words import find_key, has_key

    keys = [find_key(word, vectors) for vectors in models]
    pairs = zip(models, keys, strict=True)
    return next((key for vectors, key in pairs if has_key(vectors, key)), None)


def _join_neighbours(vectors: KeyedVectors, word: Any, n_neighbours: int) -> str:
    """Return the nearest neighbours of a word, separated by blanks; "-" for an unknown word."""
    if word not in vectors.key_to_index:
        return "-"
    return " ".join(str(key) for key, _ in vectors.most_similar(word, topn=n_neighbours))


def train_by_compass(path: Path, **options: Any) -> TFWord2Vec:
    """Load the compass, a model of all time slices, and train a slice's model in its space."""
    compass = model_files.load_for_training(path)
    from gensim_tfw2v import train_slice

    try:
        return train_slice(compass, **options)
    except TypeError as error:
        if "the compass is a" not in str(error):
            raise
        raise BadInput(f"{path}: {error}") from error
