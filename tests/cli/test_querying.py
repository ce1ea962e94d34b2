"""Contents of models, printed and converted."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from gensim.models import FastText, KeyedVectors
from gensim.models.fasttext import load_facebook_model
from gensim.test.utils import common_texts
from typer.testing import CliRunner

from gensim_tfw2v import TFFastText, TFWord2Vec
from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.cli.main import app
from gensim_tfw2v.cli.model_files import is_model, load_vectors


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, class_ in (("words", TFWord2Vec), ("ngrams", TFFastText)):
        options = {} if name == "words" else {"bucket": 50}
        model = class_(common_texts, vector_size=4, min_count=1, workers=1, **options)
        model.save(str(folder / name))
    return folder


def test_info_describes_the_model(tfw2v, models):
    found = json.loads(tfw2v("info", models / "words", "--json").stdout)
    assert (found["kind"], found["words"], found["vector_size"]) == ("TFWord2Vec", 12, 4)
    assert found["corpus_words"] == 29 and found["most_frequent"][0] == "system"
    assert "most_frequent system" in tfw2v("info", models / "words").stdout


def test_similarity_equals_gensims(tfw2v, models):
    vectors = TFWord2Vec.load(str(models / "words")).wv
    printed = float(tfw2v("similarity", models / "words", "system", "user").stdout)
    assert printed == pytest.approx(vectors.similarity("system", "user"), abs=1e-6)
    assert "'sistem'" in tfw2v("similarity", models / "words", "sistem", "user", status=2).stderr


def test_neighbours_are_printed_as_tsv_and_json(tfw2v, models):
    vectors = TFWord2Vec.load(str(models / "words")).wv
    lines = tfw2v("neighbors", models / "words", "system", "user", "-n", 2).stdout.splitlines()
    assert lines[0] == "word\tneighbour\tsimilarity" and len(lines) == 5
    found = json.loads(tfw2v("neighbours", models / "words", "user", "-n", 2, "--json").stdout)
    assert list(found["user"]) == [word for word, _ in vectors.most_similar("user", topn=2)]


def test_vectors_of_words_and_sentences_are_printed(process, models):
    vectors = TFWord2Vec.load(str(models / "words")).wv
    printed = process("vectors", models / "words", input="system\nunknown\n\nuser\n")
    lines = [line.split() for line in printed.stdout.splitlines()]
    assert [line[0] for line in lines] == ["system", "user"] and "'unknown'" in printed.stderr
    np.testing.assert_array_equal(np.array(lines[0][1:], np.float32), vectors["system"])
    printed = process(
        "vectors", models / "words", "--sentences", input="user system\nno such words\n"
    )
    rows = np.array([line.split() for line in printed.stdout.splitlines()], np.float32)
    mean = (vectors.get_vector("user", norm=True) + vectors.get_vector("system", norm=True)) / 2
    np.testing.assert_allclose(rows, [mean, np.zeros(4)], atol=1e-7)


def test_fasttext_vectors_of_unknown_words_are_printed(process, models):
    vectors = TFFastText.load(str(models / "ngrams")).wv
    line = process("vectors", models / "ngrams", input="systems\n").stdout.split()
    np.testing.assert_array_equal(np.array(line[1:], np.float32), vectors["systems"])


@pytest.mark.parametrize("name", ["out", "out.txt", "out.bin", "out.npz"])
def test_every_output_format_holds_the_same_vectors(tfw2v, models, tmp_path, name):
    vectors, output = TFWord2Vec.load(str(models / "words")).wv, tmp_path / name
    shown = tfw2v("convert", models / "words", output, "--words", 5).stdout
    assert shown == f"saved      {output}: 5 words x 4 dimensions\n"
    if name == "out.npz":
        held = np.load(output)
        words, rows = held["words"].tolist(), held["vectors"]
    else:
        loaded = (
            KeyedVectors.load(str(output))
            if name == "out"
            else KeyedVectors.load_word2vec_format(str(output), binary=name == "out.bin")
        )
        words, rows = loaded.index_to_key, loaded.vectors
    assert words == vectors.index_to_key[:5]
    np.testing.assert_array_equal(rows, vectors.vectors[:5])


def test_half_writes_float16(tfw2v, models, tmp_path):
    tfw2v("convert", models / "words", "-o", tmp_path / "half", "--to", "numpy", "--half")
    held = np.load(tmp_path / "half")
    assert held["vectors"].dtype == np.float16 and len(held["words"]) == 12


def test_keras_model_looks_up_vectors(tfw2v, models, tmp_path):
    vectors = TFWord2Vec.load(str(models / "words")).wv
    tfw2v("convert", models / "words", "-o", tmp_path / "out.keras", "--words", 5)
    model = tf.keras.models.load_model(tmp_path / "out.keras")
    rows = model(tf.constant([["user", "system", "no such word"]])).numpy()
    expected = [[vectors["user"], vectors["system"], np.zeros(4)]]
    np.testing.assert_array_equal(rows, np.array(expected, np.float32))
    lookup, embedding = model.layers
    assert lookup.get_vocabulary()[1:] == vectors.index_to_key[:5]
    assert embedding.get_weights()[0].shape == (6, 4)


@pytest.fixture
def static_embedding(tfw2v, models, tmp_path):
    folder = tmp_path / "static"
    tfw2v("convert", models / "words", "-o", folder, "--to", "sentence-transformers")
    return folder


def test_sentence_transformers_files_hold_the_vectors(static_embedding, models):
    vectors = TFWord2Vec.load(str(models / "words")).wv
    (module,) = json.loads((static_embedding / "modules.json").read_text())
    folder = static_embedding / module["path"]
    content = (folder / "model.safetensors").read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    tensor = json.loads(content[8:start])["embeddings"]
    first, last = tensor["data_offsets"]
    assert tensor["shape"] == [13, 4] and start + last == len(content)
    rows = np.frombuffer(content[start + first :], "<f4").reshape(tensor["shape"])
    np.testing.assert_array_equal(rows, [np.zeros(4), *vectors.vectors])
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    assert list(tokenizer["model"]["vocab"]) == ["[UNK]", *vectors.index_to_key]


def test_tokenizers_and_safetensors_read_the_files(static_embedding, models):
    tokenizers = pytest.importorskip("tokenizers")
    safetensors = pytest.importorskip("safetensors.numpy")
    tokenizer = tokenizers.Tokenizer.from_file(str(static_embedding / "tokenizer.json"))
    rows = safetensors.load_file(static_embedding / "model.safetensors")["embeddings"]
    ids = tokenizer.encode("user unknown system", add_special_tokens=False).ids
    vectors = TFWord2Vec.load(str(models / "words")).wv
    np.testing.assert_array_equal(rows[ids], [vectors["user"], np.zeros(4), vectors["system"]])


@pytest.mark.parametrize("to", ["pretrained", "sentence-transformers"])
def test_model2vec_encodes_the_mean_vector(tfw2v, models, tmp_path, to):
    model2vec = pytest.importorskip("model2vec")
    tfw2v("convert", models / "words", tmp_path / "folder", "--to", to)
    vectors = TFWord2Vec.load(str(models / "words")).wv
    found = model2vec.StaticModel.from_pretrained(tmp_path / "folder").encode("user system no")
    np.testing.assert_allclose(found, (vectors["user"] + vectors["system"]) / 2, atol=1e-7)


@pytest.mark.parametrize("name", ["words", "ngrams"])
def test_every_command_reads_the_folder_of_a_model(tfw2v, models, tmp_path, name):
    model = models / name
    folder = tmp_path / "folder"
    tfw2v("convert", model, folder, "--to", "pretrained")
    for command in (
        ["info"],
        ["similarity", "user", "system"],
        ["neighbours", "user"],
        ["evaluate", "--no-standard"],
    ):
        shown = [tfw2v(command[0], path, *command[1:]).stdout for path in (model, folder)]
        assert shown[0] == shown[1].replace(str(folder), str(model))
    (tmp_path / "text").write_text("user system graph\nnew user\nnew system\n" * 3)
    trained = [tmp_path / "a", tmp_path / "b"]
    for path, output in zip((model, folder), trained, strict=True):
        tfw2v("train", tmp_path / "text", "-o", output, "--init", path, "--min-count", 1)
    np.testing.assert_array_equal(*(load_vectors(path).vectors for path in trained))
    tfw2v("merge", folder, model, "-o", tmp_path / "merged", "--method", "concat")
    tfw2v("projector", folder, "--log-dir", tmp_path / "log")
    assert is_model(folder) and not is_model(tmp_path)


def test_folders_of_vectors_and_damaged_folders(tfw2v, models, static_embedding, tmp_path):
    assert (
        load_vectors(static_embedding).index_to_key == load_vectors(models / "words").index_to_key
    )
    options = ("-o", tmp_path / "new", "--to", "pretrained")
    said = tfw2v("convert", static_embedding, *options, status=2).stderr
    assert "pretrained holds only a full Word2Vec model, with all words" in said
    assert (
        "full Word2Vec"
        in tfw2v("convert", models / "words", *options, "--words", 5, status=2).stderr
    )
    (static_embedding / "tokenizer.json").unlink()
    said = tfw2v("info", static_embedding, status=2).stderr
    assert f"{static_embedding}: cannot be loaded" in said and "tokenizer.json is missing" in said


ENCODE = """
import json, sys
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[1], device="cpu")
print(json.dumps(model.encode("user system").tolist()))
"""


@pytest.mark.skipif(not find_spec("sentence_transformers"), reason="not installed")
def test_sentence_transformers_encodes_the_mean_vector(static_embedding, models):
    command = [
        sys.executable,
        "-c",
        ENCODE,
        str(static_embedding),
    ]  # keeps PyTorch out of this process
    encoded = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    vectors = TFWord2Vec.load(str(models / "words")).wv
    expected = (vectors["user"] + vectors["system"]) / 2
    np.testing.assert_allclose(json.loads(encoded), expected, atol=1e-7)


def test_existing_folder_is_not_overwritten(tfw2v, models, static_embedding):
    options = ("-o", static_embedding, "--to", "sentence-transformers")
    printed = tfw2v("convert", models / "words", *options, status=2)
    assert "give a new folder" in printed.stderr


def test_fasttext_bin_is_read_by_gensim(tfw2v, models, tmp_path):
    shown = tfw2v("convert", models / "ngrams", tmp_path / "out.bin", "--to", "fasttext").stdout
    assert shown.startswith(f"saved      {tmp_path / 'out.bin'}: 12 words")
    read = load_facebook_model(str(tmp_path / "out.bin"))
    assert isinstance(read, FastText)
    expected = TFFastText.load(str(models / "ngrams")).wv
    np.testing.assert_allclose(read.wv["systems"], expected["systems"], atol=1e-6)


@pytest.mark.parametrize("name", ["out.npz", "half.npz", "out.bin"])
def test_converted_files_are_read_back(tfw2v, models, tmp_path, name):
    model, output = models / ("ngrams" if name == "out.bin" else "words"), tmp_path / name
    options = {"out.bin": ("--to", "fasttext"), "half.npz": ("--half",)}
    tfw2v("convert", model, output, *options.get(name, ()))
    kind = "FastText" if name == "out.bin" else "KeyedVectors"
    found = json.loads(tfw2v("info", output, "--json").stdout)
    assert (found["kind"], found["words"], found["vector_size"]) == (kind, 12, 4)
    vectors, read = load_vectors(model), load_vectors(output)
    assert read.index_to_key == vectors.index_to_key and read.vectors.dtype == np.float32
    np.testing.assert_allclose(read["user"], vectors["user"], atol=1e-3 if "half" in name else 1e-6)
    assert is_model(output)


def test_npz_without_words_is_rejected(tfw2v, models, tmp_path):
    np.savez(tmp_path / "other.npz", rows=np.zeros(3))
    said = tfw2v("info", tmp_path / "other.npz", status=2).stderr
    assert "a ZIP archive, but not an .npz with words and vectors" in said


@pytest.mark.parametrize("files", [(), ("x", "-o", "y")])
def test_convert_needs_exactly_one_output(tfw2v, models, files):
    assert "one file to write" in tfw2v("convert", models / "words", *files, status=2).stderr


def test_words_are_read_from_standard_input(tfw2v, models):
    command = ["nn", str(models / "words"), "-n", "1"]
    asked = CliRunner().invoke(app, command, input="system\nsistem\n\nuser\n")
    assert [line.split("\t")[0] for line in asked.stdout.splitlines()] == ["word", "system", "user"]
    assert "'sistem' is not in the vocabulary (close: system" in asked.stderr
    assert "give a WORD" in tfw2v("nn", models / "words", status=2).stderr


def test_words_are_read_from_a_terminal(models):
    ours, terminal = os.openpty()
    os.write(ours, b"system\nsistem\nuser\n\n")
    command = [sys.executable, "-m", "gensim_tfw2v", "nn", models / "words", "-n", "1"]
    with os.fdopen(ours, "rb"), os.fdopen(terminal, "rb") as stdin:
        asked = subprocess.run(command, stdin=stdin, capture_output=True, text=True, timeout=300)
    assert asked.returncode == 0 and asked.stdout.count("neighbour\tsimilarity") == 2
    assert "'sistem' is not" in asked.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--to", "torch"),
            "--to is 'torch': name a format (convert --to) or use a suffix: gensim .kv",
        ),
        (("--half",), "--half works only with --to numpy"),
        (("--to", "fasttext"), "full FastText model"),
    ],
)
def test_impossible_conversions_are_rejected(tfw2v, models, tmp_path, arguments, said):
    printed = tfw2v("convert", models / "words", "-o", tmp_path / "x", *arguments, status=2)
    assert said in printed.stderr and not (tmp_path / "x").exists()
