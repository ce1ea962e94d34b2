"""New words in a second corpus: ``python -m benchmarks.online CORPUS --out FOLDER``.

The corpus is halved. From the first half every fifth word is taken out; a model trains on that,
takes up the words of the second half (``build_vocab(update=True)``) and trains on it. Scored are
the pairs of words that both halves have, and the pairs with a new word, before and after: for
gensim and for TFWord2Vec, with the same seeds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.one_run import spearman

#: Of the words that the second half has often enough, which share the first half lacks.
NEW = 0.2


@dataclass(frozen=True)
class Halves:
    """Files of the two corpora, and the words that only the second has."""

    first: Path
    second: Path
    new: frozenset[str]


def halve(corpus: Path, folder: Path, min_count: int) -> Halves:
    """Write the two corpora."""
    lines = corpus.read_text(encoding="utf-8").splitlines()
    middle = len(lines) // 2
    counts = Counter(word for line in lines[middle:] for word in line.split())
    words = [word for word, count in counts.most_common() if count >= min_count]
    every = round(1 / NEW)
    new = frozenset(words[every - 1 :: every])
    first, second = folder / "first.txt", folder / "second.txt"
    with first.open("w", encoding="utf-8") as file:
        for line in lines[:middle]:
            file.write(" ".join(word for word in line.split() if word not in new) + "\n")
    second.write_text("\n".join(lines[middle:]) + "\n", encoding="utf-8")
    return Halves(first, second, new)


def divide(pairs: Iterable[Path], new: frozenset[str], folder: Path) -> dict[str, dict[str, str]]:
    """Files of the pairs without a new word ("known") and with one ("new"), by name."""
    parts: dict[str, dict[str, str]] = {"known": {}, "new": {}}
    for path in pairs:
        texts: dict[str, list[str]] = {"known": [], "new": []}
        for line in path.read_text(encoding="utf-8").splitlines():
            words = line.lower().split("\t")[:2]
            if not line.startswith("#"):
                texts["new" if new & set(words) else "known"].append(line)
        for part, kept in texts.items():
            target = folder / f"{part}-{path.name}"
            target.write_text("\n".join(kept) + "\n", encoding="utf-8")
            parts[part][path.stem] = str(target)
    return parts


def scores(vectors: Any, parts: dict[str, dict[str, str]]) -> dict[str, float | None]:
    """Spearman correlation of each part of each set of pairs."""
    return {
        f"{name}, {part}": spearman(vectors, path)
        for part, paths in parts.items()
        for name, path in paths.items()
    }


def measure(
    engine: Any, halves: Halves, parts: dict[str, dict[str, str]], options: dict[str, Any]
) -> dict[str, dict[str, float | None]]:
    """Scores after the first corpus and after the second."""
    found = {}
    model = engine(**options)
    for name, path in (("before", halves.first), ("after", halves.second)):
        model.build_vocab(corpus_file=str(path), update=name == "after")
        model.train(
            corpus_file=str(path),
            total_examples=model.corpus_count,
            total_words=model.corpus_total_words,
            epochs=model.epochs,
        )
        found[name] = scores(model.wv, parts)
    return found


def table(runs: dict[str, list[dict[str, dict[str, float | None]]]]) -> str:
    """The means over the seeds, and ours less gensim's, as Markdown."""
    lines = ["| pairs | gensim before | after | TFWord2Vec before | after | after, ours − gensim |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in runs["gensim"][0]["after"]:
        means: list[float | None] = []
        for engine in ("gensim", "TFWord2Vec"):
            for when in ("before", "after"):
                values = [run[when][name] for run in runs[engine]]
                known = [value for value in values if value is not None]
                means.append(statistics.mean(known) if len(known) == len(values) else None)
        cells = ["–" if mean is None else f"{mean:.3f}" for mean in means]
        gensim, ours = means[1], means[3]
        cells.append("–" if gensim is None or ours is None else f"{ours - gensim:+.3f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> None:
    """Measure, and write the scores of all runs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.online", description=__doc__)
    add = parser.add_argument
    add("corpus", type=Path, help="text, one sentence a line, words separated by spaces")
    add("--out", type=Path, required=True, help="folder for online.json and online.md")
    add("--seeds", type=int, default=3, help="models of each engine (3)")
    add("--first-seed", type=int, default=1, help="seed of the first (1)")
    add("--epochs", type=int, default=3, help="passes over each half (3)")
    add("--workers", type=int, default=2, help="threads (2)")
    add("--sg", type=int, choices=(0, 1), default=1, help="1 skip-gram, 0 CBOW (1)")
    add("--eval", type=Path, nargs="+", action="extend", default=[], help="word-pair files")
    arguments = parser.parse_args(argv)
    if arguments.seeds < 1:
        parser.error("--seeds must be at least 1")

    from gensim.models import Word2Vec
    from gensim.test.utils import datapath

    from gensim_tfw2v import TFWord2Vec

    options = {"sg": arguments.sg, "epochs": arguments.epochs, "workers": arguments.workers}
    runs: dict[str, list[dict[str, dict[str, float | None]]]] = {"gensim": [], "TFWord2Vec": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        halves = halve(arguments.corpus, folder, min_count=5)
        parts = divide([Path(datapath("wordsim353.tsv")), *arguments.eval], halves.new, folder)
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
            for engine, made in (("gensim", Word2Vec), ("TFWord2Vec", TFWord2Vec)):
                runs[engine].append(measure(made, halves, parts, {**options, "seed": seed}))
                print(engine, "seed", seed, json.dumps(runs[engine][-1]["after"]), flush=True)
    arguments.out.mkdir(parents=True, exist_ok=True)
    document = {"corpus": arguments.corpus.name, "new_words": len(halves.new), "options": options,
                "first_seed": arguments.first_seed, "runs": runs}  # fmt: skip
    (arguments.out / "online.json").write_text(json.dumps(document, indent=1) + "\n")
    page = (
        f"# New words in a second corpus: {arguments.corpus.name}\n\n"
        f"{len(halves.new):,} new words; {arguments.seeds} seeds from {arguments.first_seed}; "
        f"sg={arguments.sg}, {arguments.epochs} epochs on each half. Spearman correlation, means "
        "over the seeds; a score without all seeds' words is left out.\n\n" + table(runs) + "\n"
    )
    (arguments.out / "online.md").write_text(page)
    print(f"\n{page}")


if __name__ == "__main__":
    main()
