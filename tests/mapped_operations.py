"""Operations on vectors in mapped files, and a program that measures their memory.

``python -m tests.mapped_operations WORDS FOLDER`` reads names of operations from standard input,
one per line. It runs each in a process of its own, and prints a line of JSON for it: the growth of
anonymous memory in bytes at its peak, and its duration.

An operation is a function of a `Files`, which prepares the operation and returns the function to
measure.
"""

import contextlib
import functools
import json
import os
import re
import shutil
import sys
import time
import traceback
from pathlib import Path

import numpy as np
from gensim.test.utils import datapath

from gensim_tfw2v import NeighbourIndex, TFWord2Vec, align_models, evaluation, merge_models
from gensim_tfw2v.cli import model_files
from gensim_tfw2v.files.safetensors import write_tensors
from gensim_tfw2v.keyed import keyed, with_keys

SIZE = 256
SAMPLE_SECONDS = 0.002
ROWS_AT_A_TIME = 1 << 14

#: Kilobytes of anonymous memory in a process's status.
ANONYMOUS = re.compile(rb"RssAnon:\s+(\d+) kB")


class Files:
    """Files of `n_words` vectors, made when they are first needed."""

    def __init__(self, folder, n_words):
        self.folder = Path(folder)
        self.n_words = n_words
        self.output = self.folder / "output"

    @functools.cached_property
    def words(self):
        text = Path(datapath("questions-words.txt")).read_text()
        pairs = Path(datapath("wordsim353.tsv")).read_text()
        names = dict.fromkeys(re.findall(r"\w+", text.lower())[: self.n_words // 2])
        names |= dict.fromkeys(re.findall(r"[a-z]+", pairs.lower()))
        words = [*names, *(f"w{row}" for row in range(self.n_words))]
        return words[: self.n_words]

    def map_rows(self, name="vectors", mode="r"):
        path = self.folder / f"{name}.npy"
        if not path.exists():
            shape = (self.n_words, SIZE)
            array = np.lib.format.open_memmap(path, "w+", np.float32, shape)
            draws = np.random.default_rng(len(name))
            for start in range(0, self.n_words, ROWS_AT_A_TIME):
                part = array[start : start + ROWS_AT_A_TIME]
                part[:] = draws.random(part.shape, np.float32) - 0.5
        return np.load(path, mmap_mode=mode)

    def vectors(self, name="vectors", mode="r"):
        vectors = keyed(self.words, self.map_rows(name, mode))
        vectors.expandos["count"] = np.arange(self.n_words, 0, -1) + 5
        return vectors

    def model(self):
        """Return a model whose arrays are mapped, as after training on a cluster."""
        tables = self.folder / "tables"
        model = TFWord2Vec(vector_size=SIZE, min_count=1, tables_dir=tables)
        model.build_vocab_from_freq({word: 9 for word in self.words})
        for start in range(0, self.n_words, ROWS_AT_A_TIME):
            rows = slice(start, start + ROWS_AT_A_TIME)
            model.wv.vectors[rows] = self.map_rows()[rows]
            model.syn1neg[rows] = self.map_rows()[rows]
        model.train_count = 1
        return model

    def make(self, name, write):
        """Return the path of a file or folder, which `write` makes in a process of its own."""
        path = self.folder / name
        if not path.exists():
            child = os.fork()
            if not child:
                with exiting():
                    write(path)
            assert os.waitpid(child, 0)[1] == 0, name
        return path

    def saved_model(self):
        return self.make("saved.model", lambda path: self.model().save(str(path)))

    def saved_vectors(self, name="vectors"):
        return self.make(f"{name}.kv", lambda path: self.vectors(name).save(str(path)))

    def binary(self):
        return self.make(
            "vectors.bin", lambda path: self.vectors().save_word2vec_format(path, binary=True)
        )

    def text(self):
        return self.make("vectors.txt", lambda path: self.vectors().save_word2vec_format(path))

    def archive(self):
        return self.make("vectors.npz", lambda path: convert(self.saved_vectors(), path))

    def folder_of_model(self):
        return self.make("pretrained", lambda path: self.model().save_pretrained(path))

    def index(self):
        def write(path):
            NeighbourIndex(self.vectors(), expansion_add=4, connectivity=4).save(path)

        return self.make("vectors.index", write)


@contextlib.contextmanager
def exiting():
    """Exit this process after the body: with 1 if it has failed."""
    try:
        yield
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def run_command(*arguments):
    """Run `tfw2v` in this process."""
    import typer.main

    from gensim_tfw2v.cli.main import app

    command = typer.main.get_command(app)
    return command(list(map(str, arguments)), "tfw2v", standalone_mode=False)


def convert(source, target, *options):
    run_command("convert", source, target, *options)


OPERATIONS = {}


def operation(function):
    """Add a function to `OPERATIONS`."""
    OPERATIONS[function.__name__] = function
    return function


def query(name, *arguments, **options):
    """Add a call of a method of vectors."""

    def prepare(files):
        vectors = files.vectors()
        return lambda: getattr(vectors, name.partition(":")[0])(*arguments, **options)

    OPERATIONS[name] = prepare


query("most_similar", "w5")
query("most_similar:all", "w5", topn=None)
query("most_similar_cosmul", ["w5", "w6"], ["w7"])
query("similar_by_vector", np.ones(SIZE))
query("similarity", "w5", "w6")
query("n_similarity", ["w5", "w6"], ["w7"])
query("distances", "w5")
query("distances:float64", np.ones(SIZE))
query("rank", "w5", "w6")
query("closer_than", "w5", "w6")
query("doesnt_match", ["w5", "w6", "w7"])
query("relative_cosine_similarity", "w5", "w6")
query("fill_norms")
query("evaluate_word_pairs", datapath("wordsim353.tsv"))
query("vectors_for_all", ["w5", "w6"])


@operation
def unit_normalize_all(files):
    shutil.copy(files.folder / "vectors.npy", files.output)
    vectors = keyed(files.words, np.load(files.output, mmap_mode="r+"))
    return vectors.unit_normalize_all


@operation
def predict_output_word(files):
    model = TFWord2Vec.load(str(files.saved_model()), mmap="r")
    return lambda: model.predict_output_word(["w5", "w6"])


@operation
def evaluate_word_analogies(files):
    vectors = files.vectors()
    path = files.folder / "questions.txt"
    path.write_text(": one\nathens greece baghdad iraq\nathens greece bangkok thailand\n")
    return lambda: vectors.evaluate_word_analogies(path)


@operation
def evaluate_pairs(files):
    vectors = files.vectors()
    return lambda: evaluation.evaluate_pairs(vectors, "ws353")


@operation
def evaluate_analogies(files):
    vectors = files.vectors()
    path = files.folder / "thousand_questions.txt"
    lines = Path(datapath("questions-words.txt")).read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:1000]))
    return lambda: evaluation.evaluate_analogies(vectors, path, metric="all")


@operation
def evaluate_edges(files):
    vectors = files.vectors()
    edges = [(f"w{row}", f"w{row + 1}") for row in range(100)]
    return lambda: evaluation.evaluate_edges(vectors, edges)


@operation
def evaluate_labels(files):
    vectors = files.vectors()
    labels = [(f"w{row}", row % 2) for row in range(100)]
    return lambda: evaluation.evaluate_labels(vectors, labels)


@operation
def neighbour_agreement(files):
    vectors = files.vectors()
    return lambda: evaluation.neighbour_agreement(vectors, vectors, ["w5", "w6"])


@operation
def projector(files):
    from gensim_tfw2v.monitor.projector import write_projector

    vectors = files.vectors()
    return lambda: write_projector(vectors, files.output, words=1000)


@operation
def index(files):
    vectors = files.vectors()
    options = {"expansion_add": 4, "connectivity": 4, "dtype": "binary"}
    return lambda: NeighbourIndex(vectors, **options)


@operation
def save_index(files):
    index = NeighbourIndex.load(files.index(), files.vectors())
    return lambda: index.save(files.output)


@operation
def load_index(files):
    path = files.index()
    vectors = files.vectors()
    return lambda: NeighbourIndex.load(path, vectors)


@operation
def search_index(files):
    vectors = files.vectors()
    index = NeighbourIndex.load(files.index(), vectors)
    return lambda: vectors.most_similar("w5", indexer=index)


@operation
def search_subset(files):
    vectors = files.vectors()
    index = NeighbourIndex.load(files.index(), vectors).subset(["w5", "w6", "w7"])
    return lambda: vectors.most_similar("w5", indexer=index, topn=2)


@operation
def compare_all_rows_of_index(files):
    vectors = files.vectors()
    index = NeighbourIndex.load(files.index(), vectors)
    return lambda: index.most_similar(vectors["w5"], topn=None)


@operation
def check_model(files):
    from gensim_tfw2v.training.model_checks import check_state

    model = TFWord2Vec.load(str(files.saved_model()), mmap="r")
    return lambda: check_state(model, model._current_config())


@operation
def renew_norms(files):
    from gensim_tfw2v.training.model_arrays import make_contiguous, renew_norms

    model = TFWord2Vec.load(str(files.saved_model()), mmap="r")
    model.wv.norms = np.zeros(files.n_words, np.float32)

    def renew():
        make_contiguous(model)
        renew_norms(model)

    return renew


@operation
def describe_random_vectors(files):
    model = TFWord2Vec.load(str(files.saved_model()), mmap="r")
    model.train_count = 0
    return lambda: model_files.describe_random_vectors(model)


@operation
def save_model(files):
    model = files.model()
    return lambda: model.save(str(files.output))


@operation
def save_vectors(files):
    vectors = files.vectors()
    return lambda: vectors.save(str(files.output))


@operation
def load_model(files):
    path = str(files.saved_model())
    return lambda: TFWord2Vec.load(path, mmap="r")


@operation
def save_text(files):
    vectors = files.vectors()
    return lambda: vectors.save_word2vec_format(files.output)


@operation
def save_binary(files):
    vectors = files.vectors()
    return lambda: vectors.save_word2vec_format(files.output, binary=True)


@operation
def save_pretrained(files):
    model = TFWord2Vec.load(str(files.saved_model()), mmap="r")
    return lambda: model.save_pretrained(files.output)


@operation
def from_pretrained(files):
    path = files.folder_of_model()
    return lambda: TFWord2Vec.from_pretrained(path, mmap="r")


@operation
def write_safetensors(files):
    rows = files.map_rows()
    return lambda: write_tensors(files.output, {"rows": ("F32", [rows])})


def load_mapped(path):
    return lambda: model_files.load_saved(path, mapped=True)


@operation
def load_binary(files):
    return load_mapped(files.binary())


@operation
def load_text(files):
    return load_mapped(files.text())


@operation
def load_archive(files):
    return load_mapped(files.archive())


@operation
def left_out_rows(files):
    vectors = files.vectors()
    vectors.index_to_key = [*vectors.index_to_key]
    vectors.index_to_key[1] = vectors.index_to_key[0]
    vectors.key_to_index = {word: row for row, word in enumerate(vectors.index_to_key)}
    return lambda: with_keys(vectors)


@operation
def merge(files):
    models = [files.vectors(), files.vectors("second")]
    return lambda: merge_models(models)


@operation
def align(files):
    models = [files.vectors(), files.vectors("second")]
    return lambda: align_models(models)


def command(name, *arguments):
    """Add a command of `tfw2v`; functions among its arguments return them from a `Files`."""

    def prepare(files):
        resolved = [part(files) if callable(part) else part for part in arguments]
        return lambda: run_command(*resolved)

    OPERATIONS[name] = prepare


def output(suffix):
    return lambda files: files.output.with_suffix(suffix)


command("tfw2v neighbours", "neighbours", Files.saved_vectors, "w5")
command("tfw2v neighbours of a model", "neighbours", Files.saved_model, "w5")
command("tfw2v neighbours of a folder", "neighbours", Files.folder_of_model, "w5")
command("tfw2v similarity", "similarity", Files.saved_vectors, "w5", "w6")
command("tfw2v info", "info", Files.saved_vectors)
command("tfw2v evaluate", "evaluate", Files.saved_vectors)
command(
    "tfw2v projector",
    "projector",
    Files.saved_vectors,
    "--log-dir",
    output(".log"),
    "--words",
    "1000",
)
command("tfw2v convert kv kv", "convert", Files.saved_vectors, output(".kv"))
command("tfw2v convert kv bin", "convert", Files.saved_vectors, output(".bin"))
command("tfw2v convert kv txt", "convert", Files.saved_vectors, output(".txt"))
command("tfw2v convert kv npz", "convert", Files.saved_vectors, output(".npz"))
command("tfw2v convert kv npz half", "convert", Files.saved_vectors, output(".npz"), "--half")
command(
    "tfw2v convert kv folder",
    *("convert", Files.saved_vectors, output(".f"), "--to", "sentence-transformers"),
)
command(
    "tfw2v convert model folder",
    *("convert", Files.saved_model, output(".f"), "--to", "pretrained"),
)
command("tfw2v convert folder kv", "convert", Files.folder_of_model, output(".kv"))
command("tfw2v convert bin kv", "convert", Files.binary, output(".kv"))
command("tfw2v convert npz kv", "convert", Files.archive, output(".kv"))
command(
    "tfw2v merge",
    "merge",
    Files.saved_vectors,
    lambda files: files.saved_vectors("second"),
    "-o",
    output(".model"),
)
command(
    "tfw2v align",
    *("align", Files.saved_vectors, lambda files: files.saved_vectors("second")),
    *("-o", output(".aligned")),
)


def measure(prepare, files):
    """Run an operation in a forked process; return the growth of its memory, and its duration."""
    receiver, sender = os.pipe()
    start_receiver, start_sender = os.pipe()
    child = os.fork()
    if not child:
        with exiting():
            os.dup2(2, 1)
            run = prepare(files)
            os.write(sender, b"r")
            os.read(start_receiver, 1)
            starts = time.perf_counter(), time.process_time()
            result = run()
            times = time.perf_counter() - starts[0], time.process_time() - starts[1]
            os.write(sender, json.dumps(times).encode())
            del result
    os.close(sender)
    os.close(start_receiver)
    if os.read(receiver, 1) != b"r":
        os.waitpid(child, 0)
        raise RuntimeError("the preparation has failed")
    baseline = read_memory(child)
    os.write(start_sender, b"s")
    os.close(start_sender)
    peak = baseline
    os.set_blocking(receiver, False)
    answer = None
    while answer is None:
        peak = max(peak, read_memory(child))
        with contextlib.suppress(BlockingIOError):
            answer = os.read(receiver, 100)
        time.sleep(SAMPLE_SECONDS)
    os.close(receiver)
    if os.waitpid(child, 0)[1]:
        raise RuntimeError("the operation has failed")
    seconds, cpu_seconds = json.loads(answer)
    return {"growth": peak - baseline, "seconds": seconds, "cpu_seconds": cpu_seconds}


def read_memory(process):
    """Return the bytes of a process's anonymous memory; 0 if it has exited."""
    match = ANONYMOUS.search(Path(f"/proc/{process}/status").read_bytes())
    return 1024 * int(match[1]) if match else 0


def main():
    files = Files(sys.argv[2], int(sys.argv[1]))
    files.map_rows()
    files.words  # noqa: B018  made once, before processes are forked
    for line in sys.stdin:
        try:
            result = measure(OPERATIONS[line.strip()], files)
        except RuntimeError as error:
            result = {"error": str(error)}
        for path in files.folder.glob("output*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
