"""Figures of the documentation: ``python docs/pictures.py`` writes docs/pictures/*.svg.

Each figure has its own background, and colours for light and dark mode, so it is readable on any
page. A test redraws the figures and compares them with the files.
"""

import json
from pathlib import Path
from statistics import median

FOLDER = Path(__file__).parent / "pictures"

STYLE = """
  svg { --ground: #ffffff; --ink: #1f2933; --soft: #667282; --line: #c3cad3; --pale: #eef1f4;
    --blue: #3f74c4; --orange: #dd8a2f; --green: #3c9a6b; --box: #f6f8fa; }
  @media (prefers-color-scheme: dark) {
    svg { --ground: #20242c; --ink: #e5e9ef; --soft: #a2acb9; --line: #56606e; --pale: #2b313b;
      --blue: #6f9fe6; --orange: #f0a45b; --green: #62c294; --box: #272c35; } }
  text { font-family: system-ui, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; font-size: 14px;
    fill: var(--ink); }
  .soft { fill: var(--soft); font-size: 13px; }
  .strong { font-weight: 600; }
  .formula { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
  .on { fill: var(--ground); font-weight: 600; }
  .frame { fill: var(--box); stroke: var(--line); }
  .line { fill: none; stroke: var(--soft); stroke-width: 1.3; }
  .arrow { fill: none; stroke: var(--ink); stroke-width: 1.6; marker-end: url(#head); }
""".strip("\n")

#: Words in the figure of a block.
WORDS = "the queen opened the new museum in the old town hall with a speech".split()

#: Reduced window of each word.
WINDOWS = (2, 3, 1, 2, 3, 1, 2, 3, 2, 1, 3, 2, 1, 3)

BLOCK = 8  # number of input words of the block
WINDOW = 3  # maximum window
NEGATIVES = ("violin", "tuesday", "copper")  # shared negatives

#: Order of the work units in two epochs.
ORDERS = ((5, 2, 7, 0, 3, 6, 1, 4), (3, 6, 0, 5, 1, 7, 4, 2))

#: Thread that trains each unit of these orders.
THREADS = ((0, 1, 0, 1, 1, 0, 1, 0), (0, 1, 1, 0, 1, 0, 0, 1))


class Picture:
    """SVG figure to which elements are added."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        self.title = title
        self.parts = [f'<rect width="{width}" height="{height}" rx="8" fill="var(--ground)"/>']

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        """Add a line of text. Its baseline is at y; `anchor` states which end of it is at x."""
        text = text.replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{text}</text>'
        )

    def rect(
        self, x: float, y: float, width: float, height: float, colour: str = "", round_: float = 2
    ) -> None:
        """Add a box, filled with a colour, or as a frame."""
        fill = f'fill="var(--{colour})"' if colour else 'class="frame"'
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round_:g}" '
            f"{fill}/>"
        )

    def path(self, path: str, kind: str = "line") -> None:
        """Add an SVG path: a line, or an arrow if `kind` is "arrow"."""
        self.parts.append(f'<path d="{path}" class="{kind}"/>')

    def rotated_text(self, x: float, y: float, text: str, kind: str = "") -> None:
        """Add a line of text that rises at 60 degrees."""
        self.parts.append(
            f'<text transform="translate({x:g} {y:g}) rotate(-60)" class="{kind}">{text}</text>'
        )

    def svg(self) -> str:
        """Return the content of the file."""
        head = (
            '<marker id="head" viewBox="0 0 10 10" refX="8.5" refY="5" markerWidth="8" '
            'markerHeight="8" orient="auto"><path d="M0 0.8 10 5 0 9.2z" fill="var(--ink)"/>'
            "</marker>"
        )
        body = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {self.size} role="img">\n'
            f"<title>{self.title}</title>\n<style>\n{STYLE}\n</style>\n<defs>{head}</defs>\n"
            f"{body}\n</svg>\n"
        )


def blocks() -> Picture:
    """Draw the matrix of a skip-gram block, and its pairs."""
    picture = Picture(760, 526, "A block of eight words, its halo and three shared negatives")
    size, left, top = 22, 148, 122
    halo = BLOCK + 2 * WINDOW
    for column in range(BLOCK):
        picture.rotated_text(left + column * size + 15, top - 8, WORDS[WINDOW + column])
    for row in range(halo):
        y = top + row * size
        picture.text(left - 10, y + 16, WORDS[row], anchor="end")
        for column in range(BLOCK):
            distance = abs(row - WINDOW - column)
            pair = 0 < distance <= WINDOWS[row]
            colour = "blue" if pair else "pale"
            picture.rect(left + column * size + 1, y + 1, size - 2, size - 2, colour)
    below = top + halo * size + 10
    for row, word in enumerate(NEGATIVES):
        y = below + row * size
        picture.text(left - 10, y + 16, word, anchor="end")
        for column in range(BLOCK):
            picture.rect(left + column * size + 1, y + 1, size - 2, size - 2, "orange")
    right = left + BLOCK * size
    picture.text(left, 28, "block: B = 8 input words, rows X", "strong")
    picture.path(f"M{left} 44V36H{right}V44")
    edge = 46
    picture.path(f"M{edge + 8} {top + 2}H{edge}V{top + halo * size - 2}H{edge + 8}")
    picture.path(f"M{edge + 8} {below + 2}H{edge}V{below + 3 * size - 2}H{edge + 8}")
    picture.parts.append(
        f'<text transform="translate({edge - 14} {top + halo * size / 2}) rotate(-90)" '
        'class="strong" text-anchor="middle">halo: H = B + 2w centres</text>'
    )
    picture.text(edge - 8, below + 37, "Kn", "strong", "end")
    x, y = right + 48, top + 4
    for colour, first, second in (
        ("blue", "a pair: label 1, M = 1", "the input is inside the centre's reduced window"),
        ("pale", "no pair: M = 0", "computed in vain, which costs less than skipping it"),
        ("orange", "a shared negative: label 0", "M = (pairs of the input) · K / Kn"),
    ):
        picture.rect(x, y, 18, 18, colour)
        picture.text(x + 30, y + 14, first, "strong")
        picture.text(x + 30, y + 33, second, "soft")
        y += 54
    y += 22
    picture.text(x, y, "Y: rows of the halo and of the negatives", "strong")
    for name, value in (
        ("S", "Y Xᵀ"),
        ("G", "(label − σ(S)) ∘ M"),
        ("ΔX", "α Gᵀ Y"),
        ("ΔY", "α G X"),
    ):
        y += 27
        picture.text(x, y, name, "formula")
        picture.text(x + 28, y, f"= {value}", "formula")
    picture.text(x, y + 34, "three dense products for all pairs of the block", "soft")
    return picture


def units() -> Picture:
    """Draw the steps from a text to work units, and the order of the units in two epochs."""
    picture = Picture(
        760, 362, "A corpus is encoded once, cut into units, and trained in any order"
    )
    left, width = 150, 580
    picture.text(20, 42, "text", "strong")
    lines = ("the queen opened parliament", "it rained all day", "she read a speech")
    x: float = left
    for line in lines:
        span = 8 * len(line) + 14
        picture.rect(x, 20, span, 34, round_=5)
        picture.text(x + span / 2, 42, line, anchor="middle")
        x += span + 10
    picture.text(x + 2, 42, "…")
    picture.path(f"M{left + 60} 62V88", "arrow")
    picture.text(left + 76, 80, "read once, in bounded memory", "soft")
    picture.text(20, 118, "word ids", "strong")
    picture.text(20, 136, "int32, on disk", "soft")
    ids = (0, 941, 217, 402, -1, 12, 5120, 37, 88, -1, 25, 310, 4, 690, -1)
    cell = width / len(ids)
    for index, word_id in enumerate(ids):
        picture.rect(left + index * cell + 1, 98, cell - 2, 30, "pale" if word_id >= 0 else "line")
        label = str(word_id).replace("-", "−")
        picture.text(left + (index + 0.5) * cell, 118, label, "soft", "middle")
    picture.path(f"M{left + 60} 138V164", "arrow")
    picture.text(left + 76, 156, "cut between sentences", "soft")
    n_units = 8
    wide = width / n_units
    picture.text(20, 194, "work units", "strong")
    for row, order in enumerate((range(n_units), *ORDERS)):
        y = 174 + row * 52
        if row:
            picture.text(20, y + 20, f"epoch {row}", "strong")
        for index, unit in enumerate(order):
            colour = ("blue", "green")[THREADS[row - 1][index]] if row else "line"
            picture.rect(left + index * wide + 2, y, wide - 4, 30, colour, 4)
            kind = "on" if row else "strong"
            picture.text(left + (index + 0.5) * wide, y + 20, str(unit), kind, "middle")
    y = 340
    for colour, x, name in (("blue", left, "thread 0"), ("green", left + 108, "thread 1")):
        picture.rect(x + 2, y - 14, 18, 18, colour)
        picture.text(x + 30, y, name, "soft")
    picture.text(left + width, y, "random draws depend only on (seed, epoch, unit)", "soft", "end")
    return picture


def _box(picture: Picture, x: float, y: float, width: float, height: float, name: str) -> None:
    picture.rect(x, y, width, height, round_=8)
    picture.text(x + 14, y + 24, name, "strong")


def job() -> Picture:
    """Draw a worker's job: fetch, train, push."""
    picture = Picture(760, 424, "A worker fetches rows, trains units on them and pushes changes")
    _box(picture, 20, 20, 720, 78, "coordinator")
    picture.text(34, 64, "assigns jobs,", "soft")
    picture.text(34, 82, "one unit per thread", "soft")
    x = 190
    for index, unit in enumerate(ORDERS[0]):
        colour = "line" if index < 2 else ("blue", "green")[index % 2]
        picture.rect(x, 41, 46, 36, colour, 4)
        picture.text(x + 23, 64, str(unit), "on", "middle")
        x += 62 if index % 2 else 50
    picture.text(x + 6, 55, "units of", "soft")
    picture.text(x + 6, 73, "the epoch", "soft")
    picture.path("M185 98V144", "arrow")
    picture.text(197, 126, "job: units 7 and 0", "soft")
    _box(picture, 20, 150, 330, 254, "worker 0")
    picture.text(34, 194, "copies of the rows of the job's words", "soft")
    for index in range(13):
        picture.rect(34 + index * 23, 206, 19, 40, "orange", 3)
    picture.text(34, 280, "2  train", "strong")
    for thread, unit in enumerate(ORDERS[0][2:4]):
        y = 294 + thread * 52
        picture.text(34, y + 23, f"thread {thread}")
        picture.rect(98, y, 46, 36, ("blue", "green")[thread], 4)
        picture.text(121, y + 23, str(unit), "on", "middle")
        picture.path(f"M150 {y + 18}H182", "arrow")
        picture.text(190, y + 23, "step after step")
    picture.path("M302 364C330 344 334 290 318 254", "arrow")
    picture.path("M302 306C310 296 312 276 306 254", "arrow")
    picture.rect(480, 150, 26, 254, "line", 8)
    picture.parts.append(
        '<text transform="translate(498 277) rotate(-90)" class="strong" '
        'text-anchor="middle">network</text>'
    )
    picture.path("M474 222H360", "arrow")
    picture.text(415, 210, "1  fetch", "strong", "middle")
    picture.text(415, 242, "rows", "soft", "middle")
    picture.path("M356 346H472", "arrow")
    picture.text(415, 334, "3  push", "strong", "middle")
    picture.text(415, 366, "changes", "soft", "middle")
    for shard in range(2):
        y = 150 + shard * 134
        _box(picture, 560, y, 180, 120, f"ps {shard}")
        picture.text(574, y + 46, f"rows {shard}, {shard + 2}, {shard + 4}, …", "soft")
        for index in range(6):
            picture.rect(574 + index * 26, y + 60, 20, 42, "orange", 3)
        picture.path(f"M554 {y + 46}H512", "arrow")
        picture.path(f"M512 {y + 80}H552", "arrow")
    return picture


def rows() -> Picture:
    """Draw the load of two ps: with rows assigned round-robin, and in contiguous ranges."""
    picture = Picture(
        760, 300, "Load of two ps with rows assigned round-robin, and with contiguous ranges"
    )
    rates = [(1 + rank) ** -0.5 for rank in range(12)]  # use of each row, as after subsampling
    for panel, (title, owner) in enumerate(
        (
            ("round-robin: row r on ps r mod 2", [rank % 2 for rank in range(12)]),
            ("contiguous ranges, TensorFlow's default", [rank // 6 for rank in range(12)]),
        )
    ):
        left = 24 + panel * 376
        picture.text(left, 34, title, "strong")
        for rank, height in enumerate(rates):
            colour = ("blue", "orange")[owner[rank]]
            picture.rect(left + rank * 27, 160 - 104 * height, 21, 104 * height, colour)
            picture.text(left + rank * 27 + 10.5, 178, str(rank), "soft", "middle")
        total = sum(rates)
        for shard in range(2):
            y = 204 + shard * 34
            share = (
                sum(
                    r for r, shard_of_row in zip(rates, owner, strict=True) if shard_of_row == shard
                )
                / total
            )
            colour = ("blue", "orange")[shard]
            picture.text(left, y + 16, f"ps {shard}", "strong")
            picture.rect(left + 50, y, 270 * share, 22, colour, 3)
    picture.text(24, 288, "height: use of a row; bars below: load of each ps", "soft")
    return picture


#: Labels of the rows of the speed chart, by setting in docs/benchmarks/speed.json.
SETTINGS = {
    "cbow100": "CBOW",
    "cbow300": "CBOW, 300 dimensions",
    "cbowhs100": "CBOW, hs=1",
    "sg100": "skip-gram",
    "sg300": "skip-gram, 300 dimensions",
    "sghs100": "skip-gram, hs=1",
}

#: Labels of the bars of each row, by engine in docs/benchmarks/speed.json.
KERNELS = {"TFWord2Vec corpus_file": "AVX512-BF16", "TFWord2Vec avx2": "AVX2"}


def ratios() -> dict[str, dict[str, float]]:
    """Return the median speed-up over gensim by setting and kernel, from speed.json."""
    runs = json.loads((FOLDER.parent / "benchmarks/speed.json").read_text(encoding="utf-8"))["runs"]
    seconds = {(r["setting"], r["engine"], r["round"]): r["train_seconds"] for r in runs}
    rounds = {r["round"] for r in runs}
    return {
        setting: {
            engine: median(
                seconds[setting, "gensim corpus_file", n] / seconds[setting, engine, n]
                for n in rounds
            )
            for engine in KERNELS
        }
        for setting in SETTINGS
    }


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
        for index, engine in enumerate(KERNELS):
            width, y = scale * speed_ups[setting][engine], top + index * 19
            picture.rect(218, y, width, 16, ("blue", "orange")[index])
            picture.text(226 + width, y + 13, f"{speed_ups[setting][engine]:.1f}×", "soft")
    picture.path("M 218 40 V 340")
    return picture


PICTURES = {"speed": speed_chart, "blocks": blocks, "units": units, "job": job, "rows": rows}


def main() -> None:
    """Write all figures."""
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
