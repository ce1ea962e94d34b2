"""Figures of the documentation: ``python -m docs.pictures`` writes docs/pictures/*.svg.

Each figure has its own background, and colours for light and dark mode, so it is readable on any
page. A test redraws the figures and compares them with the files.
"""

from pathlib import Path

from docs.charts import scaling_chart, speed_chart
from docs.svg import Picture

FOLDER = Path(__file__).parent / "pictures"

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
        ("pale", "no pair: M = 0", "its product is discarded, or not computed"),
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


def job() -> Picture:
    """Draw a worker's job: fetch, train, push."""
    picture = Picture(760, 424, "A worker fetches rows, trains units on them and pushes changes")
    picture.box(20, 20, 720, 78, "coordinator")
    picture.text(34, 64, "lists jobs,", "soft")
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
    picture.box(20, 150, 330, 254, "worker 0")
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
        picture.text(190, y + 23, "block by block")
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
        picture.box(560, y, 180, 120, f"ps {shard}")
        picture.text(574, y + 46, f"rows {shard}, {shard + 2}, {shard + 4}, …", "soft")
        for index in range(6):
            picture.rect(574 + index * 26, y + 60, 20, 42, "orange", 3)
        picture.path(f"M554 {y + 46}H512", "arrow")
        picture.path(f"M512 {y + 80}H552", "arrow")
    return picture


def cluster() -> Picture:
    """Draw the processes of a cluster: what each holds, and what they send each other.

    It is narrow, so that its text can be read on a telephone.
    """
    picture = Picture(460, 724, "The processes of a cluster, and what they send each other")
    for y, height, title in (
        (12, 172, "your machine: starts training and keeps the result"),
        (254, 152, "parameter servers (ps): hold the vectors"),
        (476, 136, "workers: train, each connected to every ps"),
    ):
        picture.rect(12, y, 436, height, "pale", 8)
        picture.text(24, y + 24, title, "strong")
    picture.box(24, 48, 186, 122, "your program")
    picture.lines(
        38,
        92,
        ("reads the corpus,", "calls train(); has the", "last epoch's vectors", "in model.wv"),
    )
    picture.box(272, 48, 164, 122, "coordinator")
    picture.lines(
        286,
        92,
        ("its child process:", "lists the jobs,", "copies the vectors,", "holds no model"),
    )
    picture.path("M216 112H266", "arrow")
    picture.text(241, 102, "starts", "soft", "middle")
    picture.path("M312 248V190", "arrow")
    picture.path("M340 190V248", "arrow")
    picture.text(302, 214, "results and,", "soft", "end")
    picture.text(302, 232, "after each epoch, the vectors", "soft", "end")
    picture.lines(350, 214, ("jobs, word ids", "first vectors"))
    for index in range(2):
        x = 24 + index * 218
        picture.box(x, 290, 194, 104, f"ps {index}")
        picture.text(x + 14, 334, f"rows {index}, {index + 2}, {index + 4}, …", "soft")
        for row in range(6):
            picture.rect(x + 14 + row * 26, 346, 20, 36, "orange", 3)
        picture.box(x, 512, 194, 88, f"worker {index}")
        picture.text(x + 14, 556, "trains copies of rows", "soft")
        for thread in range(2):
            picture.rect(x + 14 + thread * 86, 566, 80, 24, ("blue", "green")[thread], 4)
            picture.text(x + 54 + thread * 86, 583, f"thread {thread}", "on", "middle")
    picture.path("M216 470V412", "arrow")
    picture.path("M244 412V470", "arrow")
    picture.text(206, 436, "changes of", "soft", "end")
    picture.text(206, 454, "these rows", "soft", "end")
    picture.lines(254, 436, ("jobs, and the rows", "of their words"))
    picture.text(24, 640, "Who starts ps and workers", "strong")
    for index, (how, who) in enumerate(
        (
            ('cluster="local:…"', "your program"),
            ("tfw2v cluster ssh", "this command, on each host"),
            ("otherwise", "you, Slurm, Kubernetes: tfw2v task"),
        )
    ):
        picture.text(24, 664 + 22 * index, how)
        picture.text(172, 664 + 22 * index, who, "soft")
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


#: Durations of the jobs of two workers in the figure of timelines.
DURATIONS = ((88, 132, 96, 110), (120, 84, 128, 90))

TRANSFER = 13  # duration of a fetch, and of a push


def _draw_job(picture: Picture, x: float, y: float, width: float, colour: str) -> None:
    """Draw a worker's job from x on: fetch, train, push."""
    picture.rect(x, y, TRANSFER, 26, "orange")
    picture.rect(x + TRANSFER, y, width - 2 * TRANSFER, 26, colour)
    picture.rect(x + width - TRANSFER, y, TRANSFER, 26, "orange")


def timelines() -> Picture:
    """Draw the jobs of two workers over time, in three regimes."""
    picture = Picture(760, 424, "Jobs of two workers over time, in three regimes")
    left, right = 138, 686
    colours = ("blue", "green")
    for panel, (title, note) in enumerate(
        (
            ("asynchronous", "each worker starts its next job at once"),
            ("synchronous", "a round ends when the last worker has pushed; the other one waits"),
            ("sub-models", "each worker trains its own model; they are merged at the end"),
        )
    ):
        top = 20 + panel * 124
        picture.text(20, top + 14, title, "strong")
        picture.text(left + 2, top + 14, note, "soft")
        for worker in range(2):
            picture.text(20, top + 46 + worker * 34, f"worker {worker}", "soft")
            y = top + 28 + worker * 34
            if panel == 2:
                picture.rect(left, y, (452, 426)[worker], 26, colours[worker])
                picture.rect(left + (452, 426)[worker], y, 26, 26, "orange")
                continue
            x: float = left
            for index, width in enumerate(DURATIONS[worker]):
                _draw_job(picture, x, y, width, colours[worker])
                longest = max(durations[index] for durations in DURATIONS)
                if panel == 1:
                    picture.rect(x + width, y, longest - width, 26, "pale")
                x += (longest if panel else width) + 3
        if panel == 1:
            x = left - 1.5
            for pair in zip(*DURATIONS, strict=True):
                x += max(pair) + 3
                picture.path(f"M{x:g} {top + 24}V{top + 92}")
        if panel == 2:
            picture.rect(left + 486, top + 28, 60, 60, "line")
            picture.text(left + 516, top + 63, "merge", "strong", "middle")
    picture.path(f"M{left} 392H{right}", "arrow")
    picture.text(right + 10, 397, "time", "soft")
    for x, colour, name in ((left, "orange", "rows are sent"), (left + 140, "pale", "waiting")):
        picture.rect(x, 402, 14, 14, colour)
        picture.text(x + 22, 414, name, "soft")
    for x, colour in ((left + 236, "blue"), (left + 254, "green")):
        picture.rect(x, 402, 14, 14, colour)
    picture.text(left + 276, 414, "training", "soft")
    return picture


PICTURES = {
    "speed": speed_chart,
    "scaling": scaling_chart,
    "blocks": blocks,
    "units": units,
    "job": job,
    "cluster": cluster,
    "rows": rows,
    "timelines": timelines,
}


def main() -> None:
    """Write all figures."""
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
