"""New words in a second corpus: ``python -m benchmarks.online CORPUS --out FOLDER``.

The corpus is halved, and every fifth word of the vocabulary is removed from the first half. A model
trains on the first half, adds the words of the second half (``build_vocab(update=True)``) and
trains on it. After each half, it is scored on word pairs without a new word, and on pairs with one.
gensim and TFWord2Vec are compared with the same seeds.
"""

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.command import seeds, shared_parser
from benchmarks.one_run import text_source, train
from benchmarks.quality import spearman
from benchmarks.report import begin, facts, measure_name, page, score, table, write

#: Fraction of the second half's vocabulary that is removed from the first half.
NEW_FRACTION = 0.2

#: Classes by their names in the results.
ENGINES = ("gensim", "TFWord2Vec")

QUESTION = """\
Does a model that has been trained learn the new words of a second text as well as gensim's, and
does it keep what it knew?"""

COLUMNS = """\
Scores are Spearman correlations with human ratings of word pairs: of pairs without a new word
(known), and of pairs with one (new), before and after the training on the second half."""

CELLS = "– means that a word had no vector yet."

#: Scores of one training run, before and after it has trained on the second half: {when: {pairs:
#: score}}.
Scores = dict[str, dict[str, float | None]]


def halve(corpus: Path, folder: Path, min_count: int) -> tuple[dict[str, Path], frozenset[str]]:
    """Write the corpora "before" and "after"; return their files, and the words only in "after"."""
    lines = corpus.read_text(encoding="utf-8").splitlines()
    middle = len(lines) // 2
    counts = Counter(word for line in lines[middle:] for word in line.split())
    words = [word for word, count in counts.most_common() if count >= min_count]
    step = round(1 / NEW_FRACTION)
    new = frozenset(words[step - 1 :: step])
    first, second = folder / "first.txt", folder / "second.txt"
    with first.open("w", encoding="utf-8") as file:
        for line in lines[:middle]:
            file.write(" ".join(word for word in line.split() if word not in new) + "\n")
    second.write_text("\n".join(lines[middle:]) + "\n", encoding="utf-8")
    return {"before": first, "after": second}, new


def divide(pairs: Iterable[Path], new: frozenset[str], folder: Path) -> dict[str, str]:
    """Divide files of word pairs into pairs without a new word ("known") and with one ("new").

    Returns the written files by the name that tables show.
    """
    files: dict[str, dict[str, str]] = {"known": {}, "new": {}}
    for path in pairs:
        texts: dict[str, list[str]] = {"known": [], "new": []}
        for line in path.read_text(encoding="utf-8").splitlines():
            words = line.lower().split("\t")[:2]
            if not line.startswith("#"):
                texts["new" if new & set(words) else "known"].append(line)
        for part, part_lines in texts.items():
            target = folder / f"{part}-{path.name}"
            target.write_text("\n".join(part_lines) + "\n", encoding="utf-8")
            files[part][f"{path.stem}, {part}"] = str(target)
    return files["known"] | files["new"]


def measure(
    engine: Any, halves: dict[str, Path], pairs: dict[str, str], options: dict[str, Any]
) -> Scores:
    """Return the scores after the first corpus and after the second."""
    scores = {}
    model = engine(**options)
    for name, path in halves.items():
        source = text_source(str(path), from_file=True)
        model.build_vocab(**source, update=name == "after")
        train(model, source)
        scores[name] = {pair: spearman(model.wv, file) for pair, file in pairs.items()}
    return scores


def means(runs: dict[str, list[Scores]], pairs: str) -> dict[tuple[str, str], float | None]:
    """Return the mean score over the seeds by class and time; None if a seed has no score."""
    found: dict[tuple[str, str], float | None] = {}
    for engine in ENGINES:
        for when in ("before", "after"):
            values = [run[when][pairs] for run in runs[engine]]
            known = [value for value in values if value is not None]
            found[engine, when] = mean(known) if len(known) == len(values) else None
    return found


def means_table(runs: dict[str, list[Scores]]) -> str:
    """Return a table of the mean scores over the seeds, and their difference from gensim's."""
    rows = []
    for pairs in runs["gensim"][0]["after"]:
        scores = means(runs, pairs)
        row = [measure_name(pairs)]
        for when in ("before", "after"):
            gensim, ours = (scores[engine, when] for engine in ENGINES)
            row += ["–" if mean is None else score(mean) for mean in (gensim, ours)]
        row.append("–" if gensim is None or ours is None else score(ours - gensim, "+.3f"))
        rows.append(row)
    head = ["pairs", *(f"{when}: {e}" for when in ("before", "after") for e in ENGINES)]
    return table([*head, "after: difference"], rows)


def answer(runs: dict[str, list[Scores]]) -> list[str]:
    """Return a sentence on the scores after the second half for each kind of pairs."""
    sentences = []
    for kind, words in (("new", "pairs with a new word"), ("known", "pairs of known words")):
        found = [means(runs, name) for name in runs["gensim"][0]["after"] if name.endswith(kind)]
        scores = [[each[engine, "after"] for engine in ENGINES] for each in found]
        if rows := [row for row in scores if None not in row]:
            gensim, ours = (score(mean(values)) for values in zip(*rows, strict=True))
            sentences.append(
                f"After the second half, the mean correlation for {words} is {ours} with "
                f"TFWord2Vec and {gensim} with gensim."
            )
    return sentences


def markdown(document: Mapping[str, Any]) -> str:
    """Return the page of a document."""
    options, runs = document["options"], document["runs"]
    training = ", ".join(f"`{name}={value}`" for name, value in options.items())
    return page(
        "New words in a second text",
        QUESTION,
        f"A text was halved, and every fifth word of the vocabulary, {document['new_words']:,} "
        "words, was removed from the first half. A model trained on the first half, added the "
        f"removed words with `build_vocab(update=True)`, and trained on the second half, with "
        f"{training} for each half. {COLUMNS} Means over {len(runs['gensim'])} seeds.",
        answer(runs),
        means_table(runs),
        CELLS,
        facts(document),
    )


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    argument_parser = shared_parser(
        "benchmarks.online",
        __doc__,
        *("corpus", "--out", "--seeds", "--first-seed", "--epochs", "--threads", "--sg", "--eval"),
    )
    argument_parser.set_defaults(epochs=3)
    return argument_parser


def main() -> None:
    """Measure, and write the scores of all runs."""
    args = parser().parse_args()
    from gensim.models import Word2Vec
    from gensim.test.utils import datapath

    from gensim_tfw2v import TFWord2Vec

    options = {"sg": args.sg, "epochs": args.epochs, "workers": args.threads}
    runs: dict[str, list[Scores]] = {engine: [] for engine in ENGINES}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        halves, new = halve(args.corpus, folder, min_count=5)
        pairs = divide([Path(datapath("wordsim353.tsv")), *args.eval], new, folder)
        for seed in seeds(args):
            for engine, model_class in zip(ENGINES, (Word2Vec, TFWord2Vec), strict=True):
                runs[engine].append(measure(model_class, halves, pairs, {**options, "seed": seed}))
                print(engine, "seed", seed, json.dumps(runs[engine][-1]["after"]), flush=True)
    document = begin(args.corpus) | {
        "new_words": len(new),
        "options": options,
        "first_seed": args.first_seed,
        "runs": runs,
    }
    text = markdown(document)
    write(args.out / "online", document, text)
    print(f"\n{text}")


if __name__ == "__main__":
    main()
