"""Randomly mutated vector files are read as gensim reads them, or rejected."""

import collections
import io

import numpy as np
import pytest
from gensim.models import FastText, KeyedVectors
from gensim.models.fasttext import load_facebook_model, save_facebook_model
from gensim.test.utils import common_texts

from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.cli.model_files import load_saved

BOM = b"\xef\xbb\xbf"
WORDS = ["the", "of", "\u00e9t\u00e9", "", "1990", "\u8a9e", "a-b", "<unk>", "nan", "x"]


def vectors(seed=0):
    rows = np.random.default_rng(seed).normal(0, 0.3, (len(WORDS), 6)).astype(np.float32)
    made = KeyedVectors(6)
    made.add_vectors(WORDS, rows)
    return made


def text(tmp_path, header=True):
    vectors().save_word2vec_format(str(tmp_path / "x"), write_header=header)
    return (tmp_path / "x").read_bytes()


def glove(tmp_path):
    return text(tmp_path, False)


def tsv(tmp_path):
    return text(tmp_path, False).replace(b" ", b"\t")


def binary(tmp_path):
    vectors().save_word2vec_format(str(tmp_path / "x"), binary=True)
    return (tmp_path / "x").read_bytes()


def npz(tmp_path):
    file = io.BytesIO()
    np.savez(file, words=np.array(WORDS), vectors=vectors().vectors)
    return file.getvalue()


_models = {}


def fasttext(tmp_path):
    if not _models:
        model = FastText(common_texts, min_count=1, vector_size=4, bucket=9, workers=1, epochs=1)
        save_facebook_model(model, str(tmp_path / "x"))
        _models["fasttext"] = (tmp_path / "x").read_bytes()
    return _models["fasttext"]


FORMATS = {of.__name__: of for of in (text, glove, tsv, binary, npz, fasttext)}


def mutated(content, draws):
    """Apply one to three random mutations, of kinds that happen to real files."""
    lines = content.split(b"\n")
    for _ in range(draws.integers(1, 4)):
        at = int(draws.integers(len(content) + 1))
        lines = content.split(b"\n")
        line = int(draws.integers(len(lines)))
        kind = int(draws.integers(17))
        if kind == 0 and at < len(content):  # flip a bit
            flipped = content[at] ^ (1 << int(draws.integers(8)))
            content = content[:at] + bytes([flipped]) + content[at + 1 :]
        elif kind == 1:
            content = content[:at]
        elif kind == 2:
            content = content[:at] + draws.bytes(int(draws.integers(1, 9))) + content[at:]
        elif kind == 3:
            content += draws.bytes(int(draws.integers(1, 9)))
        elif kind == 4:
            sizes = lines[0].split()
            lines[0] = b" ".join(sizes[::-1])
            content = b"\n".join(lines)
        elif kind == 5:
            sizes = [b"%d" % int(draws.choice([0, 1, 5, 9, 10, 11, 6, 10**9, 10**14]))]
            content = b" ".join([*sizes, *content.split(b" ")[1:]])
        elif kind == 6:
            content = content.replace(b"\n", b"\r\n")
        elif kind == 7:
            content = content.replace(b" ", b"  ", int(draws.integers(1, 9)))
        elif kind == 8:
            content = content.replace(b" ", b"\t", int(draws.integers(1, 99)))
        elif kind == 9:
            content = content.replace(b".", b",", int(draws.integers(1, 99)))
        elif kind == 10:
            content = BOM + content
        elif kind == 11:
            number = draws.choice([b"nan", b"inf", b"1_0", b"1e999", b"1e39", b"0x1p3", b"-"])
            fields = content.split(b" ")
            fields[int(draws.integers(len(fields)))] = number
            content = b" ".join(fields)
        elif kind == 12:
            content = b"\n".join([*lines, lines[line], b""])
        elif kind == 13:
            content = b"\n".join([*lines[:line], b"", *lines[line:]])
        elif kind == 14:
            content += content
        elif kind == 15:
            content = b"\n".join([*lines[:line], *lines[line + 1 :]])
        else:
            content = content[:at] + content[at + int(draws.integers(1, 9)) :]
    return content


def changed_archive(draws):
    """Return an .npz whose arrays have unexpected types, orders or shapes, or are missing."""
    words, rows = np.array(WORDS), vectors().vectors
    kind = int(draws.integers(10))
    words = (words, words[:-1], words[:, None], np.arange(10), words.astype(object))[kind // 2]
    orders = rows, rows.T, rows[:-1], rows[None], rows[0], np.asfortranarray(rows)
    types = rows.astype(">f8"), rows.astype(np.float16), rows.astype(complex), rows > 0
    rows = (*orders, *types)[int(draws.integers(10))]
    arrays = {"words": words, "vectors": rows}
    if kind == 9:
        del arrays[str(draws.choice(["words", "vectors"]))]
    file = io.BytesIO()
    (np.savez_compressed if draws.integers(2) else np.savez)(file, **arrays)
    return file.getvalue()


def read_by_gensim(path, form, content):
    """Return the words and vectors that gensim (or NumPy) reads; None if it fails."""
    bom = BOM if content.startswith(BOM) else b""
    try:
        if form == "npz":
            with np.load(path) as arrays:
                return arrays["words"].tolist(), np.asarray(arrays["vectors"], np.float32)
        if form == "fasttext":
            wv = load_facebook_model(str(path)).wv
            return wv.index_to_key, wv.vectors
        sizes = content.removeprefix(BOM).split(b"\n")[0].split()
        has_header = len(sizes) == 2 and all(map(bytes.isdigit, sizes))
        if has_header and max(map(len, sizes)) > 6:
            return None  # gensim would allocate all that memory first
        bare = path.with_name("bare")
        if form != "binary":  # only empty lines at the end are ignored
            content = content.removeprefix(BOM).rstrip() + b"\n"
        bare.write_bytes(content)
        options = {"binary": form == "binary", "no_header": not has_header}
        found = KeyedVectors.load_word2vec_format(str(bare), **options)
        if not found.vector_size:
            raise ValueError("rows with tabs, each taken for a word")
        kept = len(found.key_to_index)
        return found.index_to_key[:kept], found.vectors[:kept]
    except Exception:  # gensim raises errors of any type
        if form in ("text", "glove", "tsv") and b"\t" in content:
            return read_by_gensim(path, form, bom + content.replace(b"\t", b" "))
        return None


def check(form, seeds, tmp_path):
    """Read mutated files; return the number of files per outcome."""
    counts = collections.Counter()
    content = FORMATS[form](tmp_path)
    for seed in seeds:
        draws = np.random.default_rng(seed)
        changed = mutated(content, draws)
        if form == "npz" and draws.integers(2):
            changed = changed_archive(draws)
        path = tmp_path / "vectors"
        path.write_bytes(changed)
        try:
            saved = load_saved(path)
        except BadInput as error:
            assert str(error).startswith(f"{path}: ") and "\n" not in str(error)
            if form == "fasttext":  # gensim does not terminate on some of these
                counts["refused"] += 1
                continue
            read = read_by_gensim(path, form, changed)
            counts["gensim refuses too" if read is None else "refused"] += 1
            continue
        found = getattr(saved, "wv", saved)
        expected = read_by_gensim(path, form, changed)
        assert expected is not None, (seed, changed[:300])
        words = list(dict.fromkeys(expected[0]))
        assert found.index_to_key == words, (seed, changed[:300])
        rows = [expected[1][expected[0].index(word)] for word in words]
        np.testing.assert_array_equal(found.vectors, rows, err_msg=f"seed {seed}")
        counts["as gensim"] += 1
    return counts


@pytest.mark.parametrize("form", FORMATS)
def test_intact_files_are_read_as_by_gensim(form, tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(content := FORMATS[form](tmp_path))
    saved = load_saved(path)
    expected = read_by_gensim(path, form, content)
    assert getattr(saved, "wv", saved).index_to_key == expected[0]
    np.testing.assert_array_equal(getattr(saved, "wv", saved).vectors, expected[1])


@pytest.mark.parametrize("form", FORMATS)
def test_some_mutated_files_are_read_as_by_gensim_or_rejected(form, tmp_path):
    counts = check(form, range(60), tmp_path)
    assert sum(counts.values()) == 60 and counts["as gensim"] < 60


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
def test_many_mutated_files_are_read_as_by_gensim_or_rejected(form, tmp_path):
    counts = check(form, range(1000, 3000), tmp_path)
    print(form, dict(counts))
    assert counts["as gensim"] and counts["refused"] + counts["gensim refuses too"]
