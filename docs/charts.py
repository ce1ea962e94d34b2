"""Charts of results in docs/benchmarks."""

import json
import math
from pathlib import Path
from statistics import median

from docs.svg import Picture

RESULTS = Path(__file__).parent / "benchmarks"

#: Labels of the rows of the speed chart, by setting in docs/benchmarks/speed.json.
SETTINGS = {
    "cbow100": "CBOW",
    "cbow300": "CBOW, 300 dimensions",
    "cbowhs100": "CBOW, hs=1",
    "sg100": "skip-gram",
    "sg300": "skip-gram, 300 dimensions",
    "sghs100": "skip-gram, hs=1",
}

#: Labels of the bars of each row, by file in docs/benchmarks.
KERNELS = {"speed": "AVX2", "speed-avx512": "AVX-512"}


def ratios() -> dict[str, dict[str, float]]:
    """Return the median speed-up over gensim by setting and file."""
    found: dict[str, dict[str, float]] = {setting: {} for setting in SETTINGS}
    for name in KERNELS:
        runs = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["runs"]
        seconds = {(r["setting"], r["engine"], r["round"]): r["train_seconds"] for r in runs}
        rounds = {r["round"] for r in runs}
        for setting, row in found.items():
            row[name] = median(
                seconds[setting, "gensim corpus_file", n]
                / seconds[setting, "TFWord2Vec corpus_file", n]
                for n in rounds
            )
    return found


def speed_chart() -> Picture:
    """Draw the speed-up over gensim."""
    picture = Picture(560, 360, "Speed-up over gensim on two cores, with gensim as 1")
    speed_ups = ratios()
    scale = 270 / max(max(row.values()) for row in speed_ups.values())
    picture.text(206, 28, "times gensim's speed", "strong", "end")
    for index, name in enumerate(KERNELS.values()):
        picture.rect(218 + 140 * index, 16, 14, 14, ("blue", "orange")[index])
        picture.text(240 + 140 * index, 28, name)
    for row, (setting, name) in enumerate(SETTINGS.items()):
        top = 46 + row * 50
        picture.text(206, top + 24, name, "", "end")
        for index, kernel in enumerate(KERNELS):
            width, y = scale * speed_ups[setting][kernel], top + index * 19
            picture.rect(218, y, width, 16, ("blue", "orange")[index])
            picture.text(226 + width, y + 13, f"{speed_ups[setting][kernel]:.1f}×", "soft")
    picture.path("M 218 40 V 340")
    return picture


def scaling_chart() -> Picture:
    """Draw the simulated speed of clusters by their number of workers, on logarithmic axes."""
    picture = Picture(460, 372, "Simulated words per second by number of workers")
    path = RESULTS / "scaling.json"
    simulated = json.loads(path.read_text(encoding="utf-8"))["simulated"]
    workers = (1, 4, 16, 64)
    left, right, top, bottom = 52, 440, 76, 330

    def place(n_workers: float, words_per_second: float) -> tuple[float, float]:
        x = left + (right - left) * math.log(n_workers) / math.log(workers[-1])
        return x, bottom - (bottom - top) * math.log(words_per_second / 4e6) / math.log(128)

    picture.text(12, 26, "M words/s", "strong")
    for millions in (4, 16, 64, 256):
        _, y = place(1, 1e6 * millions)
        picture.rect(left, round(y, 1), right - left, 1, "line", 0)
        picture.text(left - 8, y + 5, str(millions), "soft", "end")
    for n_workers in workers:
        picture.text(place(n_workers, 4e6)[0], bottom + 20, str(n_workers), "soft", "middle")
    picture.text((left + right) / 2, bottom + 36, "workers, with half as many ps", "", "middle")
    kinds = (
        (2, 10, "blue", ""),
        (16, 10, "orange", ""),
        (2, 1, "blue", "6 4"),
        (16, 1, "orange", "6 4"),
    )
    for index, (cores, gigabits, colour, dashes) in enumerate(kinds):
        (rows,) = (
            machines["rows"]
            for machines in simulated
            if machines["cores"] == cores
            and machines["net"] * 8 / 1e9 == gigabits
            and not machines["shared_text"]
        )
        points = [
            place(row["workers"], row["words_per_second"]) for row in rows if row["workers"] <= 64
        ]
        line = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        x, y = 120 + 172 * (index % 2), 26 + 22 * (index // 2)
        for path_data in (f"M{line}", f"M{x} {y - 5}H{x + 30}"):
            picture.parts.append(
                f'<path d="{path_data}" fill="none" stroke="var(--{colour})" stroke-width="2.5" '
                f'stroke-dasharray="{dashes}"/>'
            )
        picture.text(x + 38, y, f"{cores} cores, {gigabits} Gbit/s", "soft")
    return picture
