"""Commands that query models, such as ``evaluate``, ``neighbours`` and ``info``."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gensim_tfw2v.cli import common, dialect_options
from gensim_tfw2v.cli.common import BadInput, Encoding, Model, Verbose, option, print_table
from gensim_tfw2v.cli.corpus_argument import corpus_arguments, is_stream
from gensim_tfw2v.cli.model_files import (
    UTF8,
    has_integers,
    is_model,
    load_saved,
    load_vectors,
    of_another_kind,
    trained_vectors,
)
from gensim_tfw2v.files.temporary import check_folder
from gensim_tfw2v.messages import quoted, require
from gensim_tfw2v.monitor.progress import phase

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

SPELLINGS_SEARCHED = 50_000  # comparing spellings takes some 10 microseconds per word

Json = Annotated[bool, option("Print JSON instead of text.", "--json")]

#: Kinds of analogy questions, each with its own accuracy.
KINDS = ("total", "semantic", "syntactic")


def evaluate(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="MODEL... [FILE...]",
            help="Models or vectors saved by gensim (files you trust: loading one can run code), "
            "or word2vec's text or binary format; then your own evaluation files, word pairs with "
            "ratings or analogies. Formats are detected automatically.",
        ),
    ],
    encoding: Encoding = UTF8,
    standard: Annotated[
        bool, option("Evaluate on WS353, SimLex-999 and the word2vec analogies.")
    ] = True,
    text: Annotated[
        Path | None,
        option(
            "Print the held-out loss, in nats per prediction, on this text that the model was not "
            "trained on, one sentence per line; - reads standard input. Needs a full model.",
            allow_dash=True,
        ),
    ] = None,
    column: Annotated[
        str | None, option("Column of --text, if it is a table, as for tfw2v train.")
    ] = None,
    sep: dialect_options.Sep = None,
    quotechar: dialect_options.Quotechar = '"',
    escapechar: dialect_options.Escapechar = None,
    header: dialect_options.Header = True,
    newlines: dialect_options.Newlines = False,
    table_encoding: dialect_options.TableEncoding = None,
    lists: dialect_options.Lists = None,
    recursive: Annotated[
        bool, option("Read the files in subfolders of --text, too.", "--recursive")
    ] = False,
    log_dir: Annotated[
        Path | None,
        option(
            "TensorBoard log folder: the scores are added to it as a run, for comparison with "
            "trainings."
        ),
    ] = None,
    run: Annotated[str | None, option("Name of that run; by default the model's.")] = None,
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Evaluate vectors on word similarity and analogies, and models on your own text.

    Word similarity is the rank correlation with human ratings (1 is best). Analogies are scored
    twice: on the questions whose words are all among the 30,000 most frequent ones, as in gensim,
    and on all questions, where an unknown word makes the answer wrong. Several models are compared
    in one table. To a file or pipe, tables are printed as tab-separated values.
    """
    models = [path for path in dict.fromkeys(paths) if path == paths[0] or is_model(path)]
    if run is not None and (log_dir is None or len(models) > 1):
        raise BadInput("--run names the TensorBoard run of a single MODEL, and needs --log-dir")
    if text is None and (column is not None or recursive):
        raise BadInput("--column and --recursive describe a text: give --text")
    dialect = dialect_options.dialect_arguments(locals())
    if column is None and dialect:
        raise BadInput("options of tables need the name of a column: give --column")
    if text is not None and len(models) > 1 and is_stream(text):
        raise BadInput(f"{text}: is needed once per model; write the text to a file")
    if run is not None and (not run or Path(run).is_absolute() or ".." in Path(run).parts):
        raise BadInput(f"--run is {quoted(run)}: give a name, or a path inside the --log-dir")
    if log_dir is not None:
        require("--log-dir", "tensorboard")
        check_folder("log_dir", log_dir)
        runs = {model: log_dir / (run or model.stem) for model in models}
        if len(set(runs.values())) < len(runs):
            raise BadInput("models of the same name would share a run; evaluate them one by one")

        from gensim_tfw2v.monitor.events import do_without_tensorflow
        from gensim_tfw2v.monitor.run import check_run, write_baseline

        for folder in runs.values():
            check_run(folder)
    files = [path for path in paths if path not in models]
    results: dict[str, dict[str, Any]] = {}
    corpus = {}
    if text is not None:
        command = f"tfw2v evaluate {shlex.quote(str(models[0]))} --text"
        corpus = corpus_arguments(text, column, recursive=recursive, command=command, **dialect)
    for model in models:
        saved = load_saved(model, encoding)
        trained = trained_vectors(saved, model)

        from gensim_tfw2v.evaluation import summary

        loss = {} if text is None else {"held_out_loss": _held_out_loss(saved, model, corpus)}
        with phase("comparing with word pairs and analogies", None):
            result = summary(trained, files, standard=standard) | loss
        if log_dir is not None:
            from gensim_tfw2v.options.hyperparameters import hyperparameters

            is_whole = hasattr(saved, "wv")
            made_with = hyperparameters(saved, saved.corpus_total_words) if is_whole else None
            do_without_tensorflow()
            write_baseline(runs[model], result, made_with)
        results[str(model)] = result
    if json:
        typer.echo(dumps(results if len(models) > 1 else result, indent=2, allow_nan=False))
        return
    if len(models) > 1:
        rows = [{"model": name} | _measures(result) for name, result in results.items()]
        print_table(list(rows[0]), [list(row.values()) for row in rows])
        return
    print(f"{model}: {result['words']:,} words x {result['vector_size']} dimensions")
    if loss:
        print(
            f"{text}: held-out loss {loss['held_out_loss']:.4f} nats per prediction (lower is "
            "better; compare only models with the same vocabulary and options)"
        )
    _print_scores(result)


def _print_scores(result: dict[str, Any]) -> None:
    """Print all scores of one model: a table of word pairs, and a table of analogies."""
    rows = []
    for name, score in result["pairs"].items():
        correlations = (_rounded(score[name], 3) for name in ("spearman", "pearson"))
        used = f"{score['used']:,} of {score['pairs']:,}"
        rows.append([Path(name).name, *correlations, used, f"{score['oov_ratio']:.1%}"])
    if rows:
        print_table(["word similarity", "Spearman", "Pearson", "pairs", "unknown"], rows)
    rows = []
    for name, metrics in result["analogies"].items():
        for metric, score in metrics.items():
            asked = [Path(name).name, "known" if metric == "gensim" else metric]
            shares = (f"{score[kind]:.1%}" for kind in KINDS)
            rows.append([*asked, *shares, f"{score['counted']:,}"])
    if rows:
        print_table(["analogies solved", "questions", *KINDS, "number"], rows)


def _measures(result: dict[str, Any]) -> dict[str, str]:
    """Return a model's row in a table of several models: a score per set and metric."""
    numbers = {name: score["spearman"] for name, score in result["pairs"].items()}
    for name, metrics in result["analogies"].items():
        numbers |= {name: metrics["gensim"]["total"], f"{name} (all)": metrics["all"]["total"]}
    if "held_out_loss" in result:
        numbers["held_out_loss"] = result["held_out_loss"]
    found = {name: _rounded(value, 4) for name, value in numbers.items()}
    return {name: str(result[name]) for name in ("words", "vector_size")} | found


def _rounded(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _held_out_loss(saved: Any, path: Path, corpus: dict[str, Any]) -> float:
    from gensim_tfw2v import TFFastText, TFWord2Vec

    TFFastText.take_over(saved)
    # Doc2Vec models have no vectors for new documents
    if not isinstance(saved, TFWord2Vec) or saved.has_documents:
        raise of_another_kind(saved, path, "--text needs a full model of Word2Vec or FastText")
    sentences, corpus_file = corpus.get("sentences"), corpus.get("corpus_file")
    if has_integers(saved.wv):
        from gensim.models.word2vec import LineSentence

        sentences, corpus_file = _Keys(sentences or LineSentence(corpus_file), saved.wv), None
    return saved.held_out_loss(sentences, corpus_file)


class _Keys:
    """Sentences of typed words, with the keys that these stand for; unknown words stay strings."""

    def __init__(self, sentences: Iterable[list[str]], vectors: KeyedVectors) -> None:
        self.sentences = sentences
        self.vectors = vectors

    def __iter__(self) -> Iterator[list[Any]]:
        from gensim_tfw2v.typed_words import find_key

        for sentence in self.sentences:
            keys = (find_key(word, self.vectors) for word in sentence)
            yield [word if key is None else key for word, key in zip(sentence, keys, strict=True)]


def neighbours(
    model: Model,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WORD...]",
            help="Words to look up; without any, those on standard input, one per line.",
        ),
    ] = None,
    number: Annotated[int, option("Neighbours per word.", "-n", "--number", "--topn", min=1)] = 10,
    documents: common.Documents = False,
    index: Annotated[
        Path | None, option("Index of these vectors, from `tfw2v index`, for a faster search.")
    ] = None,
    minus: Annotated[
        list[str] | None,
        option("Word to subtract; all words then form one query (king woman --minus man)."),
    ] = None,
    json: Json = False,
    encoding: Encoding = UTF8,
    verbose: Verbose = False,
) -> None:
    """Print the nearest neighbours of each WORD by cosine similarity.

    Without a WORD, prompts for words on a terminal until an empty line or Ctrl-D. Prints a table on
    a terminal, and tab-separated values to a file or pipe. Unknown words are reported with similar
    spellings. If no word is known, the exit status is 2.
    """
    if both := {*(words or ())} & {*(minus or ())}:
        raise BadInput(
            f"{quoted(min(both))} is a WORD and --minus, which cancel out; leave out one"
        )
    _check_order(model, words or (), "neighbours")
    vectors = load_vectors(model, encoding, documents)
    indexer = None
    if index is not None:
        from gensim_tfw2v import NeighbourIndex

        indexer = NeighbourIndex.load(index, vectors)
    look_up = partial(_look_up, vectors, indexer)
    if words or not sys.stdin.isatty():
        given = words or [*filter(None, map(str.strip, sys.stdin))]
        look_up(given, minus, number, json)
        return
    with suppress(EOFError):
        while word := input("word: ").strip():
            try:
                look_up([word], minus, number, json)
            except BadInput as error:
                print(f"tfw2v: {error}", file=sys.stderr)


def _check_order(model: Path, words: Iterable[str], command: str) -> None:
    """Raise if MODEL is missing, but a WORD is a file."""
    if not model.exists() and (path := next(filter(os.path.isfile, words), None)):
        raise BadInput(f"{model}: no such file; MODEL comes first: tfw2v {command} {path} {model}")


def _look_up(
    vectors: KeyedVectors,
    indexer: Any,
    words: list[str],
    minus: list[str] | None,
    number: int,
    json: bool,
) -> None:
    """Print the neighbours of words; see `neighbours`."""
    keys, messages = _find_keys([*words, *(minus or ())], vectors)
    known = [word for word in words if word in keys]
    if not known or (minus and messages):
        more = f"; and {len(messages) - 5} more" if len(messages) > 5 else ""
        raise BadInput(
            "; ".join(messages[:5]) + more or "give a WORD, as an argument or on standard input"
        )
    for message in messages:
        print(f"tfw2v: {message}", file=sys.stderr)
    if minus:
        query = f"{' + '.join(known)} - {' - '.join(minus)}"
        positive, negative = ([keys[word] for word in side] for side in (known, minus))
        found = {query: _nearest(vectors, indexer, number, positive, negative)}
    else:
        found = {word: _nearest(vectors, indexer, number, [keys[word]], []) for word in known}
    if json:
        # names in a JSON object are strings, so keys that are integers are printed in pairs
        is_text = all(isinstance(key, str) for key in vectors.index_to_key)
        shown = {query: dict(near) if is_text else near for query, near in found.items()}
        print(dumps(shown, indent=2, default=_plain))
    else:
        common.print_neighbours(found)


def _nearest(
    vectors: KeyedVectors,
    indexer: Any,
    number: int,
    positive: list[Any],
    negative: list[Any],
) -> list[tuple[Any, float]]:
    """Return the nearest words; an indexer, if not None, finds the words of the query, too."""
    asked = {*positive, *negative}
    found = vectors.most_similar(positive, negative, number + len(asked), indexer=indexer)
    return [each for each in found if each[0] not in asked][:number]


def similarity(
    model: Model,
    word: Annotated[str, typer.Argument(metavar="WORD", help="First word.")],
    other: Annotated[str, typer.Argument(metavar="WORD", help="Second word.")],
    documents: common.Documents = False,
    encoding: Encoding = UTF8,
    verbose: Verbose = False,
) -> None:
    """Print the cosine similarity of two words."""
    _check_order(model, [word, other], "similarity")
    vectors = load_vectors(model, encoding, documents)
    keys, messages = _find_keys([word, other], vectors)
    if messages:
        raise BadInput("; ".join(messages))
    print(f"{vectors.similarity(keys[word], keys[other]):.6f}")


def vectors(
    model: Model,
    sentences: Annotated[
        bool, option("Print one vector per line of text: the mean of its words' unit vectors.")
    ] = False,
    infer: Annotated[
        bool, option("Print one vector per line of text, inferred by Doc2Vec.", "--infer")
    ] = False,
    encoding: Encoding = UTF8,
    verbose: Verbose = False,
) -> None:
    """Print the vectors of words that are read from standard input, one word per line.

    Each line of output is a word and its numbers, as in word2vec's text format; with --sentences
    or --infer, only the numbers. Unknown words are skipped with a warning on stderr, except with a
    FastText model, which has vectors for them too. If no word is known, the exit status is 2.
    """
    saved = load_saved(model, encoding)
    if infer:
        from gensim_tfw2v import TFDoc2Vec

        if not isinstance(TFDoc2Vec.take_over(saved), TFDoc2Vec):
            raise of_another_kind(saved, model, "--infer needs a Doc2Vec model")
        lines: Any = (line.split() for line in sys.stdin)
        for row in saved.infer_vectors(_Keys(lines, saved.wv) if has_integers(saved.wv) else lines):
            print(*_digits(row))
        return
    from gensim_tfw2v.typed_words import find_key

    loaded = trained_vectors(saved, model)
    n_words = n_known = 0
    for line in sys.stdin:
        words = [*filter(None, line.split() if sentences else [line.strip()])]
        keys = [find_key(word, loaded) for word in words]
        for word, key in zip(words, keys, strict=True):
            if key is None:
                print(f"tfw2v: {quoted(word)} is not in the vocabulary", file=sys.stderr)
        known = [key for key in keys if key is not None]
        n_words += len(words)
        n_known += len(known)
        if sentences:
            mean = loaded.get_mean_vector(known) if known else [0.0] * loaded.vector_size
            print(*_digits(mean))
            continue
        for key in known:
            print(key, *_digits(loaded[key]))
    if not n_words:
        raise BadInput("standard input has no words; write one per line, as in: echo WORD | tfw2v")
    if not n_known:
        raise BadInput(f"{model}: has none of the words on standard input; see tfw2v info")


def _digits(numbers: Iterable[float]) -> Iterator[str]:
    return (f"{number:.9g}" for number in numbers)


def info(
    model: Model, json: Json = False, encoding: Encoding = UTF8, verbose: Verbose = False
) -> None:
    """Describe a model: its class, vocabulary and options."""
    saved = load_saved(model, encoding)
    held = getattr(saved, "wv", saved)
    from gensim_tfw2v.options.table import named

    found = {"kind": type(saved).__name__, "words": len(held), "vector_size": held.vector_size}
    found |= {name: getattr(saved, name) for name in named("info") if hasattr(saved, name)}
    if hasattr(saved, "dv"):
        found["dm"] = int(not saved.sg)
        found["dbow_words"] = int(getattr(saved, "dbow_words", 0))
        found["documents"] = len(saved.dv)
    if hasattr(saved, "corpus_total_words"):
        found["corpus_words"] = saved.corpus_total_words
    found["most_frequent"] = held.index_to_key[:10]
    if json:
        print(dumps(found, indent=2, default=_plain))
        return
    found["most_frequent"] = " ".join(map(str, found["most_frequent"]))
    common.print_rows((f"{name:<14}", str(value)) for name, value in found.items())


def _plain(word: Any) -> int | str:
    """Return the form in JSON of a word of another type than Python's strings and integers."""
    from gensim_tfw2v.typed_words import is_integer

    return int(word) if is_integer(word) else str(word)


def _find_keys(words: list[str], vectors: KeyedVectors) -> tuple[dict[str, Any], list[str]]:
    """Return the keys of typed words, and a message for each unknown one.

    The message lists known words of similar spelling.
    """
    from gensim_tfw2v.typed_words import find_key, typed_form

    keys = {}
    messages = []
    for word in dict.fromkeys(words):
        if (key := find_key(word, vectors)) is not None:
            keys[word] = key
            continue
        known = map(typed_form, reversed(vectors.index_to_key[:SPELLINGS_SEARCHED]))
        spelled = {candidate.casefold(): candidate for candidate in known if candidate is not None}
        close = get_close_matches(word.casefold(), spelled, n=3)
        hint = f" (close: {', '.join(spelled[match] for match in close)})" if close else ""
        messages.append(f"{quoted(word)} is not in the vocabulary{hint}")
    return keys, messages
