"""Page with the results of `benchmarks.compare`."""

from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any, NamedTuple

from benchmarks.records import REFERENCE, Run, read_runs
from benchmarks.report import (
    MEGABYTE,
    bullet_list,
    facts,
    mean_score,
    measure_name,
    page,
    paired_ratios,
    quality_table,
    ratio_range,
    ratio_text,
    score,
    scores_of,
    section,
    setting_names,
    spread,
    table,
    unique,
)

#: Minimum number of word pairs for which a correlation is shown.
MIN_PAIRS = 30


class About(NamedTuple):
    """Title and question of a study."""

    title: str
    question: str
    of_variants: bool = False  # the question is about the variants of the candidate


#: Titles and questions of the studies in docs/benchmarks, by name.
ABOUT = {
    "speed": About(
        "Speed on one machine",
        "How much faster than gensim does `TFWord2Vec` train on one machine? The answer depends "
        "on the objective and on the number of dimensions, so both are varied. The kernel is the "
        "one for AVX2, which almost all processors for servers have.",
    ),
    "speed-avx512": About(
        "Speed on one machine, with AVX-512",
        "How much faster than gensim does `TFWord2Vec` train on a processor with AVX-512, and "
        "how much of that does the instruction set account for?",
    ),
    "speed-65m": About(
        "Speed and quality on a larger text",
        "Does a larger text, with a larger vocabulary, change the speed relative to gensim, and "
        "are the vectors as good?",
    ),
    "speed-65m-avx512": About(
        "Speed and quality on a larger text, with AVX-512",
        "Are the speed and the vectors as good on a larger text if the processor has AVX512-BF16, "
        "with which some factors are rounded to 16 bits?",
    ),
    "regimes": About(
        "Regimes and merging methods",
        "What does each distributed training strategy (regime) cost in speed, and are its vectors "
        "as good as gensim's? All tasks of these local clusters share the cores of one machine, so "
        "the speeds show the cost of the regime. What more machines bring is [another "
        "study](scaling.md).",
        of_variants=True,
    ),
    "workers": About(
        "Many workers, and deterministic training",
        "Does quality suffer if many workers train at the same time, or if `deterministic=True` "
        "makes training repeatable? The tasks of these local clusters share the cores of one "
        "machine, so many workers are slow here, and only their vectors are of interest. With one "
        "epoch and two threads, the default's learning rates [fall only "
        "half-way](../deterministic.md), which helps CBOW.",
        of_variants=True,
    ),
    "fasttext": About(
        "FastText",
        "How do `TFFastText`'s speed, memory and vectors compare with those of gensim's "
        "`FastText`? Its vectors of unknown words are compared, too.",
    ),
    "doc2vec": About(
        "Doc2Vec",
        "How do `TFDoc2Vec`'s speed and its vectors of documents compare with those of gensim's "
        "`Doc2Vec`?",
    ),
}

#: Meaning of each column of the table of speeds.
COLUMNS = {
    "words/s in train()": "raw words of the text times epochs, per second in `train()`",
    "text to vectors, s": "seconds of counting the words and training, without imports",
    "whole process, s": "seconds from the start of Python until the vectors were ready",
    "× gensim": f"speed relative to {REFERENCE}, in `train()`, from text to vectors, and of the "
    "whole process: above 1, it is faster. The range over the rounds is in parentheses",
    "CPU s in train()": "CPU time of all threads and tasks in `train()`",
    "peak memory, MiB": "peak of the process and its children",
}

CLUSTERS = {
    "bytes per token": "network traffic of a cluster per word after subsampling. A cluster's time "
    "in `train()` includes the start of its tasks, some seconds",
}

#: Meaning of the measures of quality.
WORDS = (
    "Scores are Spearman correlations with human ratings of word pairs, and accuracy on gensim's "
    "analogies among the 30,000 most frequent words, both computed by gensim's functions. A cell "
    "is the mean ± half the range over the seeds and, in parentheses, the difference from "
    f"{REFERENCE}'s mean. A difference smaller than the half ranges means nothing."
)
DOCUMENTS = (
    "Two tests with inferred vectors of 1,000 lines of 60 words or more. “halves” is how often the "
    "nearest second half is the line's own. “itself” is how often the nearest trained vector is "
    "the line's own. A cell is the mean ± half the range over the seeds and, in parentheses, the "
    f"difference from {REFERENCE}'s mean."
)

#: Runs of a setting by engine; the reference is first.
Groups = Mapping[str, Sequence[Run]]


def speed_of(runs: Sequence[Run], base: Sequence[Run]) -> float:
    """Return the median speed in `train` relative to the reference's in the same round."""
    ratios = paired_ratios(runs, base, lambda run: run.words_per_second)
    return median(ratios) if ratios else 1.0


def speed_table(groups: Groups) -> str:
    """Return a table of each engine's speed, times and memory, with ratios to the reference."""
    base = groups.get(REFERENCE, [])
    head = ["engine", "words/s in train()", "× gensim in train()", "text to vectors, s"]
    head += ["× gensim, text to vectors", "whole process, s", "× gensim, whole process"]
    head += ["CPU s in train()", "peak memory, MiB"]
    has_traffic = any(run.bytes_per_token is not None for runs in groups.values() for run in runs)
    rows = []
    for engine, runs in groups.items():
        cells = [
            engine,
            f"{median([run.words_per_second for run in runs]) / 1e6:.3f} M",
            spread(paired_ratios(runs, base, lambda run: run.words_per_second)),
            f"{median([run.text_seconds for run in runs]):.1f}",
            spread(paired_ratios(runs, base, lambda run: 1 / run.text_seconds)),
            f"{median([run.process_seconds for run in runs]):.1f}",
            spread(paired_ratios(runs, base, lambda run: 1 / run.process_seconds)),
            f"{median([run.cpu_seconds for run in runs]):.1f}",
            f"{median([run.memory_bytes for run in runs]) / MEGABYTE:.0f}",
        ]
        if has_traffic:
            cells.append(f"{median([run.bytes_per_token or 0 for run in runs]):.0f}")
        rows.append(cells)
    return table([*head, "bytes per token"] if has_traffic else head, rows)


def summary_table(settings: Mapping[str, Groups], measures: Sequence[str]) -> str:
    """Return a table of each engine's speed, and mean score over the measures, by setting."""
    head = ["engine"]
    for name in settings:
        prefix = f"{name}: " if len(settings) > 1 else ""
        head += [f"{prefix}× gensim", *([f"{prefix}mean score"] if measures else [])]
    rows = []
    for engine in unique(engine for groups in settings.values() for engine in groups):
        cells = [engine]
        for groups in settings.values():
            runs = groups.get(engine, [])
            cells.append(f"{speed_of(runs, groups.get(REFERENCE, [])):.1f}" if runs else "–")
            if measures:
                cells.append(score(mean_score(runs, measures)) if runs else "–")
        rows.append(cells)
    return table(head, rows)


def answer(settings: Mapping[str, Groups], measures: Sequence[str]) -> dict[str, str]:
    """Return sentences on the speed and quality of the candidate, and on its variants."""
    names = unique(name for groups in settings.values() for name in groups)
    ours = [name for name in names if name != REFERENCE and name.endswith(" corpus_file")]
    compared = {
        name: groups for name, groups in settings.items() if {REFERENCE, *ours[:1]} <= {*groups}
    }
    if not ours or not compared:
        return {"none": "Nothing has been compared with gensim yet."}
    candidate, several = ours[0], len(compared) > 1

    def note(setting: str) -> str:
        return f" ({setting})" if several else ""

    label = candidate.removesuffix(" corpus_file")
    speeds = {name: speed_of(g[candidate], g[REFERENCE]) for name, g in compared.items()}
    sentences = {
        "speed": f"{label} on one machine trained {ratio_range(speeds)} times as fast as gensim."
    }
    if measures:
        means, differences = [], {}
        for name, groups in compared.items():
            own, base = (mean_score(groups[e], measures) for e in (candidate, REFERENCE))
            means.append(f"{score(own)}, gensim's {score(base)}{note(name)}")
            for measure in measures:
                own, base = (fmean(scores_of(groups[e], measure)) for e in (candidate, REFERENCE))
                differences[f"{measure_name(measure)}{f', {name}' if several else ''}"] = own - base
        low, high = (pick(differences, key=differences.__getitem__) for pick in (min, max))
        sentences["speed"] += f" Its mean score is {'; '.join(means)}."
        sentences["quality"] = (
            f"Single scores differ from gensim's by "
            f"{score(differences[low], '+.3f')} ({low}) to {score(differences[high], '+.3f')} "
            f"({high})."
        )
    variants = [
        sentence
        for setting, groups in compared.items()
        if (sentence := _variants(groups, candidate, setting if several else "", measures))
    ]
    return sentences | ({"variants": " ".join(variants)} if variants else {})


def _variants(groups: Groups, candidate: str, setting: str, measures: Sequence[str]) -> str:
    """Return a sentence on the best and worst variants of the candidate; "" if there are few."""
    label = candidate.removesuffix("corpus_file")
    variants = {
        engine.removeprefix(label): runs
        for engine, runs in groups.items()
        if engine not in (REFERENCE, candidate)
    }
    if len(variants) < 3:
        return ""
    speeds = {e: speed_of(runs, groups[REFERENCE]) for e, runs in variants.items()}
    fast, slow = (pick(speeds, key=speeds.__getitem__) for pick in (max, min))
    sentence = (
        f"Among {len(variants)} variants of {label.strip()}{f' in {setting}' if setting else ''}, "
        f"the fastest is `{fast}`, {ratio_text(speeds[fast])} times as fast as gensim, and the "
        f"slowest `{slow}`, {ratio_text(speeds[slow])} times"
    )
    if measures:
        scores = {e: mean_score(runs, measures) for e, runs in variants.items()}
        good, bad = (pick(scores, key=scores.__getitem__) for pick in (max, min))
        sentence += (
            f"; the mean score is highest with `{good}`, {score(scores[good])}, and lowest "
            f"with `{bad}`, {score(scores[bad])} (gensim: "
            f"{score(mean_score(groups[REFERENCE], measures))})"
        )
    return f"{sentence}."


def markdown(document: Mapping[str, Any]) -> str:
    """Return the page of a document; its runs may be in any order."""
    runs = sorted(read_runs(Run, document), key=lambda run: run.round)
    engines = sorted({run.engine for run in runs}, key=_order)
    options = document["settings"]
    names = setting_names(options)
    settings: dict[str, Groups] = {}
    for setting in unique(run.setting for run in runs):
        groups = {e: [r for r in runs if (r.setting, r.engine) == (setting, e)] for e in engines}
        settings[names[setting]] = {e: each for e, each in groups.items() if each}
    n_pairs = {name: n for run in runs for name, n in run.n_pairs.items()}
    few = [name for name, n in n_pairs.items() if n < MIN_PAIRS]
    measures = [
        name
        for name in unique(name for run in runs for name in run.quality)
        if name not in few and any(run.quality[name] is not None for run in runs if run.quality)
    ]
    common_measures = [  # of all engines, so that their means can be compared
        name
        for name in measures
        if all(scores_of(group, name) for groups in settings.values() for group in groups.values())
    ]
    corpus, sizes = document["corpus"], document["import_bytes"].items()
    about = ABOUT.get(
        document.get("name", ""),
        About(
            f"Compared with gensim: {corpus['name']}",
            "How do speed, memory and quality compare with gensim's?",
        ),
    )
    common = ", ".join(
        f"`{name}={value}`"
        for name, value in next(iter(options.values())).items()
        if all(other.get(name) == value for other in options.values())
    )
    sentences = answer(settings, common_measures)
    lead = [sentences.pop("variants")] if about.of_variants and "variants" in sentences else []
    has_cluster = any(run.bytes_per_token is not None for run in runs)
    seeds = ", ".join(map(str, sorted({run.seed for run in runs})))
    kernel = next((name for name in engines if name.count(" ") == 1 and name.endswith("avx2")), "")
    method = (
        f"Each engine trained on {corpus['words']:,} words with {common}, and with the "
        f"seeds {seeds}, one per round. Each training run used a new process"
        f"{', bound to as many cores as threads' if document.get('pinned') else ''}. In a round, "
        "the engines ran directly after each other, in an order that changed from round to round. "
        "Ratios compare runs of the same round, so a machine that is slower for a while changes "
        "them little; the page shows medians over the rounds. Engines are named by their options: "
        f"“{REFERENCE}” is gensim's class, which reads the text from a `corpus_file=`"
        + (kernel and f", and “{kernel}” uses the AVX2 kernel instead of the processor's best")
        + "."
    )
    averaged = ", ".join(map(measure_name, common_measures))
    shown = f"The mean score is the mean of {averaged}." if averaged else ""
    return page(
        about.title,
        about.question,
        method,
        [*lead, *sentences.values()],
        section("Summary", summary_table(settings, common_measures), shown),
        section(
            "Columns of the tables",
            bullet_list(COLUMNS | (CLUSTERS if has_cluster else {})),
            _about_quality(measures, n_pairs, few),
        ),
        *(
            section(name, speed_table(groups), quality_table(groups, "engine", measures))
            for name, groups in settings.items()
        ),
        facts(
            document,
            {
                "memory of a process that only imports": ", ".join(
                    f"{name} {size / MEGABYTE:.0f} MiB" for name, size in sizes
                )
            },
        ),
    )


def _order(engine: str) -> tuple[bool, bool, str]:
    """Sort the reference first, then the candidate, then its variants."""
    return engine != REFERENCE, not engine.endswith(" corpus_file"), engine


def _about_quality(measures: Sequence[str], n_pairs: Mapping[str, int], few: Sequence[str]) -> str:
    if not measures:
        return ""
    if "halves" in measures:
        return DOCUMENTS
    text = WORDS
    if kept := [f"{measure_name(n)} {n_pairs[n]:,}" for n in measures if n in n_pairs]:
        text += (
            " “unknown” marks the pairs of a set with a word outside the vocabulary; their numbers "
            f"are: {', '.join(kept)}."
        )
    if few:
        left_out = ", ".join(f"{measure_name(name)} ({n_pairs[name]})" for name in few)
        text += f" Sets of fewer than {MIN_PAIRS} pairs are left out: {left_out}."
    return text
