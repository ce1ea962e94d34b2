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
    models: Models,
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
    outputs = [output_dir / path.name for path in models]
    if len(set(outputs)) < len(outputs):
        twice = next(path.name for path in outputs if outputs.count(path) > 1)
        raise BadInput(
            "models of the same name would overwrite each other: two are named "
            f"{twice}; rename one of them"
        )
    if output_dir.exists() and not output_dir.is_dir():
        raise BadInput(f"{output_dir}: is a file; give a folder")
    if len(models) < 2:
        raise BadInput(f"{models[0]} is the only MODEL; give at least two, in their order")
    if reason := why_unwritable(output_dir):
        raise BadInput(f"{output_dir}: cannot be written to ({reason}); give a different folder")
    if output_dir.is_dir():
        inputs = dict.fromkeys(models, "is one of the inputs")
        for output in outputs:
            model_files.check_outputs(output, None, False, inputs)
    loaded = [model_files.load_saved(path, encoding) for path in models]
    for path, model in zip(models, loaded, strict=True):
        model_files.trained_vectors(model, path)
    writers = [_writer(output, model) for output, model in zip(outputs, loaded, strict=True)]
    with phase(f"aligning {len(models)} models", None):
        from gensim_tfw2v import align_models

        aligned: list[Any] = align_models(loaded)
    saved = []
    output_dir.mkdir(parents=True, exist_ok=True)
    for output, write, model in zip(outputs, writers, aligned, strict=True):
        saved += model_files.save_atomically(output, partial(write, model))
    common.print_rows([("aligned", f"{len(models)} models to {models[0]}")], saved)


def _writer(output: Path, model: Any) -> Callable[[Any, Any], object]:
    """Return the function that writes a model, or vectors, in the format of a file's suffix."""
    gensim = formats.KNOWN["gensim"]
    if hasattr(model, "wv"):
        formats.check_model_name(output)
        return gensim.write
    form = formats.find_format(output, None, gensim.name)
    formats.check_holds(form, model, output)
    model_files.notify(output, model_files.losses(form, model, output))
    return form.write


def changes(
    models: Models,
    words: Annotated[
        list[str] | None,
        option("Word to show, instead of the most changed. May be repeated.", "-w", "--word"),
    ] = None,
    number: Annotated[int, option("Number of most changed words.", "-n", "--number", min=1)] = 10,
    among: Annotated[
        int, option("Choose them from this many words, the first in all models.", min=1)
    ] = 10_000,
    neighbours: Annotated[int, option("Neighbours per word and model.", min=1)] = 5,
    encoding: common.Encoding = model_files.UTF8,
    verbose: Verbose = False,
) -> None:
    """Print how words change between aligned models: by `align`, or `train --compass`.

    Each line shows the cosine similarity of a word's vector in a MODEL to its vectors in the first
    and in the previous MODEL, and its nearest neighbours. The most changed words have the lowest
    similarity between the first and the last MODEL.
    """
    if len(models) < 2:
        raise BadInput(
            f"{models[0]} is the only MODEL; give at least two, whose words are compared"
        )
    loaded = [model_files.load_vectors(path, encoding) for path in models]
    from gensim_tfw2v import self_similarities

    chosen = [_find_key(word, loaded) for word in words or ()]
    if unknown := [word for word, key in zip(words or (), chosen, strict=True) if key is None]:
        raise BadInput(f"in none of the models: {', '.join(map(quoted, unknown))}; see tfw2v info")
    found = self_similarities(loaded, chosen or None)
    if not found:
        raise BadInput("the models have no word in common; give models of the same language")
    if not words:
        chosen = sorted(list(found)[:among], key=lambda word: found[word][0, -1])[:number]
        found = {word: found[word] for word in chosen}
    rows = [
        [str(word), path.name, *_similarities(matrix, place), _nearest(of, word, neighbours)]
        for word, matrix in found.items()
        for place, (path, of) in enumerate(zip(models, loaded, strict=True))
    ]
    common.print_table(["word", "model", "first", "previous", "neighbours"], rows)


def _similarities(matrix: Any, place: int) -> list[str]:
    """Return the similarities of a model's vector to those of the first and previous model."""
    return [f"{matrix[place, other]:.4f}" if place else "-" for other in (0, place - 1)]


def _find_key(word: str, models: list[KeyedVectors]) -> Any:
    """Return the key that a typed word stands for in the first model that has it, or None."""
    from gensim_tfw2v.typed_words import find_key, has_key

    keys = [find_key(word, vectors) for vectors in models]
    pairs = zip(models, keys, strict=True)
    return next((key for vectors, key in pairs if has_key(vectors, key)), None)


def _nearest(vectors: KeyedVectors, word: Any, number: int) -> str:
    if word not in vectors.key_to_index:
        return "-"
    return " ".join(str(near) for near, _ in vectors.most_similar(word, topn=number))


def train_by_compass(path: Path, **options: Any) -> TFWord2Vec:
    """Load a compass, and train a slice; see `train_slice`."""
    compass = model_files.load_saved(path)
    from gensim_tfw2v import train_slice

    try:
        return train_slice(compass, **options)
    except TypeError as error:
        if "the compass is a" not in str(error):
            raise
        raise BadInput(f"{path}: {error}") from error
