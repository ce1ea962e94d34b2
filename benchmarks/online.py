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
from collections.abc import Iterable
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.command import seeds, shared_parser
from benchmarks.one_run import text_source, train
from benchmarks.quality import spearman
from benchmarks.report import begin, facts, page, table, write

#: Fraction of the second half's vocabulary that is removed from the first half.
NEW_FRACTION = 0.2

#: Scores of one training, before and after it has trained on the second half: {when: {pairs:
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


def means_table(runs: dict[str, list[Scores]]) -> str:
    """Return a table of the mean scores over the seeds, and their difference from gensim's."""
    rows = []
    for name in runs["gensim"][0]["after"]:
        means: list[float | None] = []
        for engine in ("gensim", "TFWord2Vec"):
            for when in ("before", "after"):
                values = [run[when][name] for run in runs[engine]]
                defined_values = [value for value in values if value is not None]
                means.append(mean(defined_values) if len(defined_values) == len(values) else None)
        cells = ["–" if mean is None else f"{mean:.3f}" for mean in means]
        _, gensim, _, ours = means
        cells.append("–" if gensim is None or ours is None else f"{ours - gensim:+.3f}")
        rows.append([name, *cells])
    head = ["pairs", "gensim before", "after", "TFWord2Vec before", "after", "after, ours − gensim"]
    return table(head, rows)


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
    runs: dict[str, list[Scores]] = {"gensim": [], "TFWord2Vec": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        halves, new = halve(args.corpus, folder, min_count=5)
        pairs = divide([Path(datapath("wordsim353.tsv")), *args.eval], new, folder)
        for seed in seeds(args):
            for engine, model_class in (("gensim", Word2Vec), ("TFWord2Vec", TFWord2Vec)):
                runs[engine].append(measure(model_class, halves, pairs, {**options, "seed": seed}))
                print(engine, "seed", seed, json.dumps(runs[engine][-1]["after"]), flush=True)
    document = begin(args.corpus) | {
        "new_words": len(new),
        "options": options,
        "first_seed": args.first_seed,
        "runs": runs,
    }
    about = (
        f"{len(new):,} new words; {args.seeds} seeds from {args.first_seed}; "
        f"sg={args.sg}, {args.epochs} epochs on each half. Spearman correlation, means "
        "over the seeds; a score that is missing for some seed is left out."
    )
    title = f"New words in a second corpus: {args.corpus.name}"
    text = page(title, facts(document), about, means_table(runs))
    write(args.out / "online", document, text)
    print(f"\n{text}")


if __name__ == "__main__":
    main()
