"""Tables as many programs write them are read as pandas reads them, or refused with a cure."""

import bz2
import csv
import gzip
import itertools
import json
import lzma

import pyarrow as pa
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from pyarrow import csv as pyarrow_csv
from pyarrow import feather, orc, parquet

from gensim_tfw2v import TableDocuments, TableSentences
from gensim_tfw2v.corpus.tables import list_cells
from tests.corpus.test_table_files import read_by_library

pandas = pytest.importorskip("pandas")

TEXTS = ["a b", "c", "NA", "x  y", "5 mm", "end."]
SEPARATORS = ["a, b", "c; d", "e|f", "g\th", ",", ""]
QUOTES = ['say "hi, you" now', '5" disk', '"start', 'end"', '"all"', '""', "it's 'so'"]
NEWLINES = ["line\none", "win\r\ndows", "lone\rreturn", "\nfirst", "last\n", 'a "q"\nb, c']
ESCAPES = ["C:\\dir\\x", "a \\n b", "\\", 'q \\" r', "a\\,b"]
LATIN = ["naïve café", "Größe", "señor"]
WIDE = ["日本 語", "\u3000wide\u3000", "ж ☃", "naïve"]
LISTS = [["New York", "is"], ["a"], ["b", "c"], []]


def words_by_pandas(path, column="text", *, quotechar='"', newlines=False, **options):
    """Return the words of each row, as pandas reads them with options of `TableSentences`."""
    quoting = csv.QUOTE_MINIMAL if quotechar else csv.QUOTE_NONE
    options.setdefault("sep", "\t" if ".tsv" in path.name else ",")
    frame = pandas.read_csv(
        path, quotechar=quotechar or '"', quoting=quoting, dtype=str, keep_default_na=False,
        index_col=False, **options,
    )  # fmt: skip
    frame.columns = list(map(str, frame.columns))
    return [cell.split() if isinstance(cell, str) else [] for cell in frame[column]]


def words_of(path, column="text", **options):
    """Return the words of each row, and check that the scanner and sentences agree with them."""
    rows = [document.words for document in TableDocuments(path, column, **options)]
    sentences = TableSentences(path, column, **options)
    assert list(sentences) == [words for words in rows if words]
    if sentences.ranges is not None:
        assert read_by_library(sentences)[0] == list(sentences)
    return rows


def write_csv(path, texts, encoding="utf-8", header=("id", "text"), **dialect):
    with open(path, "w", encoding=encoding, newline="") as file:
        writer = csv.writer(file, **dialect)
        if header:
            writer.writerow(header)
        writer.writerows(enumerate(texts))
    return path


#: Tables of Python's csv module: texts, how they are written, and how they are read.
WRITTEN = {
    f"{name}-{sep!r}-{quoting}-{ending!r}": (
        texts,
        {"delimiter": sep, "quoting": getattr(csv, f"QUOTE_{quoting}"), "lineterminator": ending},
        {"sep": sep},
    )
    for (name, texts), sep, quoting, ending in itertools.product(
        {"texts": TEXTS, "separators": SEPARATORS, "quotes": QUOTES}.items(),
        ",;\t|",
        ("MINIMAL", "ALL"),
        ("\n", "\r\n"),
    )
}
BACKSLASH = {"escapechar": "\\"}
NO_QUOTES = {"quoting": csv.QUOTE_NONE, "quotechar": None}
WRITTEN |= {
    "newlines": (NEWLINES, {}, {"newlines": True}),
    "newlines-all-quoted": (NEWLINES, {"quoting": csv.QUOTE_ALL}, {"newlines": True}),
    "newlines-tabs": (NEWLINES, {"delimiter": "\t"}, {"sep": "\t", "newlines": True}),
    "apostrophes": (QUOTES, {"quotechar": "'"}, {"quotechar": "'"}),
    "no-quotes": (QUOTES, NO_QUOTES | {"delimiter": "\t"}, {"sep": "\t", "quotechar": None}),
    "no-quotes-escaped": (SEPARATORS, NO_QUOTES | BACKSLASH, {"quotechar": None} | BACKSLASH),
    "escaped-quotes": (QUOTES, BACKSLASH | {"doublequote": False}, BACKSLASH),
    "escaped-escapes": (ESCAPES, BACKSLASH | {"doublequote": False}, BACKSLASH),
    "escaped-newlines": (
        NEWLINES, BACKSLASH | {"doublequote": False}, BACKSLASH | {"newlines": True}
    ),
    "backslashes": (ESCAPES, {}, {}),
    "mac-line-ends": (TEXTS, {"lineterminator": "\r"}, {}),
    "mixed-line-ends": (TEXTS, {"lineterminator": "\r\r\n"}, {}),
    "utf-8": (WIDE, {}, {}),
    "utf-8-sig": (WIDE, {"encoding": "utf-8-sig", "quoting": csv.QUOTE_ALL}, {}),
    "utf-16": (WIDE + QUOTES, {"encoding": "utf-16"}, {"encoding": "utf-16"}),
    "utf-16-le": (WIDE, {"encoding": "utf-16-le"}, {"encoding": "utf-16-le"}),
    "utf-32": (WIDE, {"encoding": "utf-32"}, {"encoding": "utf-32"}),
    "latin-1": (LATIN, {"encoding": "latin-1"}, {"encoding": "latin-1"}),
    "cp1252": (["“quoted” text – dash"], {"encoding": "cp1252"}, {"encoding": "cp1252"}),
    "shift-jis": (["日本 語"], {"encoding": "shift-jis"}, {"encoding": "shift-jis"}),
    "wide-separator": (SEPARATORS, {"delimiter": "¦"}, {"sep": "¦"}),
    "only-header": ([], {}, {}),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_tables_of_the_csv_module_are_read_as_pandas_reads_them(tmp_path, name):
    texts, dialect, options = WRITTEN[name]
    path = write_csv(tmp_path / "t.csv", texts, **dialect)
    words = words_of(path, **options)
    assert words == [text.split() for text in texts]
    if not {"\\"} & {*map(str, options.values())} and "separator" not in name:
        assert words == words_by_pandas(path, **options)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_compressed_tables_are_read_as_pandas_reads_them(tmp_path, suffix):
    path = tmp_path / f"t.csv{suffix}"
    write_csv(tmp_path / "t.csv", TEXTS + QUOTES + WIDE, encoding="utf-16")
    compress = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[suffix]
    path.write_bytes(compress((tmp_path / "t.csv").read_bytes()))
    assert words_of(path, encoding="utf-16") == words_by_pandas(path, encoding="utf-16")
    with pytest.raises(ValueError, match=r"looks like UTF-16: pass encoding='utf-16'"):
        TableSentences(path, "text")


@pytest.mark.parametrize("options", [
    {"header": None}, {"names": ["n", "text"]}, {"header": 0, "names": ["n", "text"]},
], ids=["numbered", "named", "replaced"])  # fmt: skip
def test_columns_without_a_header_have_numbers_or_names(tmp_path, options):
    path = write_csv(tmp_path / "t.csv", TEXTS, header=None)
    column = "text" if "names" in options else "1"
    assert words_of(path, column, **options) == words_by_pandas(path, column, **options)


def test_unnamed_index_of_pandas_is_a_column(tmp_path):
    path = tmp_path / "t.csv"
    pandas.DataFrame({"text": TEXTS}, index=["w", "x", "y", "z", "v", "u"]).to_csv(path)
    assert words_of(path, "") == [["w"], ["x"], ["y"], ["z"], ["v"], ["u"]]
    assert words_of(path) == [text.split() for text in TEXTS]


def frames():
    """Yield the names of data frames, and their texts."""
    nulls = ["a b", None, "", "c"]
    yield "texts", TEXTS + SEPARATORS + QUOTES + ESCAPES + WIDE
    yield "newlines", [text for text in NEWLINES if "lone" not in text]
    yield "nulls", nulls


def by_pandas(path, texts):
    frame = pandas.DataFrame({"id": range(len(texts)), "text": texts})
    writers = {
        ".csv": lambda: frame.to_csv(path, index=False),
        ".tsv": lambda: frame.to_csv(path, sep="\t"),
        ".gz": lambda: frame.to_csv(path),
        ".parquet": lambda: frame.to_parquet(path),
        ".feather": lambda: frame.to_feather(path),
        ".orc": lambda: frame.to_orc(path),
        ".jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        ".json": lambda: frame.to_json(path, orient="records"),
    }
    writers[path.suffix]()


def by_pyarrow(path, texts):
    table = pa.table({"id": range(len(texts)), "text": pa.array(texts, pa.string())})
    writers = {
        ".csv": pyarrow_csv.write_csv,
        ".parquet": parquet.write_table,
        ".feather": feather.write_feather,
        ".orc": orc.write_table,
        ".arrow": write_stream,
    }
    writers[path.suffix](table, path)


def write_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table)


def by_polars(path, texts):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"id": range(len(texts)), "text": texts})
    writers = {
        ".csv": frame.write_csv,
        ".tsv": lambda path: frame.write_csv(path, separator="\t", quote_style="always"),
        ".parquet": frame.write_parquet,
        ".arrow": frame.write_ipc,
        ".feather": lambda path: frame.write_ipc(path, compression="zstd"),
        ".ipc": frame.write_ipc_stream,
        ".ndjson": frame.write_ndjson,
        ".json": frame.write_json,
    }
    writers[path.suffix](path)


def by_duckdb(path, texts):
    duckdb = pytest.importorskip("duckdb")
    table = pa.table({"id": range(len(texts)), "text": pa.array(texts, pa.string())})
    forms = {
        ".csv": "(FORMAT csv)",
        ".tsv": "(FORMAT csv, DELIMITER '\t', FORCE_QUOTE *)",
        ".parquet": "(FORMAT parquet)",
        ".jsonl": "(FORMAT json)",
        ".json": "(FORMAT json, ARRAY true)",
        ".gz": "(FORMAT csv, COMPRESSION gzip)",
    }
    with duckdb.connect() as connection:
        connection.register("texts", table)
        connection.sql("SELECT * FROM texts").create("copied")
        connection.execute(f"COPY copied TO '{path}' {forms[path.suffix]}")


PROGRAMS = {
    by_pandas: "t.csv t.tsv t.csv.gz t.parquet t.feather t.orc t.jsonl t.json",
    by_pyarrow: "t.csv t.parquet t.feather t.orc t.arrow",
    by_polars: "t.csv t.tsv t.parquet t.arrow t.feather t.ipc t.ndjson t.json",
    by_duckdb: "t.csv t.tsv t.parquet t.jsonl t.json t.csv.gz",
}


@pytest.mark.parametrize(("kind", "texts"), [*frames()], ids=lambda value: str(value)[:8])
@pytest.mark.parametrize(
    ("program", "name"),
    [(program, name) for program, names in PROGRAMS.items() for name in names.split()],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_tables_of_other_programs_have_their_texts(tmp_path, program, name, kind, texts):
    path = tmp_path / name
    program(path, texts)
    is_csv = any(suffix in name for suffix in (".csv", ".tsv"))
    options = {"newlines": True} if is_csv and kind == "newlines" else {}
    assert words_of(path, **options) == [(text or "").split() for text in texts]
    if options:
        with pytest.raises(ValueError, match=r"row 1 \(line 2\): a quoted cell contains a newline"):
            words_of(path)


@pytest.mark.parametrize("lists", [LISTS, [[3, 1], [2], [], [5, 2**40]]], ids=["words", "numbers"])
@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.orc", "t.jsonl", "t.json", "t.csv"])
def test_lists_of_pandas_are_words(tmp_path, name, lists):
    path = tmp_path / name
    by_pandas(path, lists)
    options = {"lists": "json"} if name == "t.csv" else {}
    assert words_of(path, **options) == lists
    if options:
        with pytest.raises(ValueError, match=r"look like lists .* pass lists='json' to parse"):
            words_of(path)


@pytest.mark.parametrize("program", [by_polars, by_duckdb], ids=lambda value: value.__name__)
@pytest.mark.parametrize("name", ["t.parquet", "t.json"])
def test_lists_of_other_programs_are_words(tmp_path, program, name):
    if program is by_duckdb:
        duckdb = pytest.importorskip("duckdb")
        form = "parquet" if name == "t.parquet" else "json, ARRAY true"
        values = ", ".join(f"({row})" for row in LISTS)
        duckdb.execute(
            f"COPY (FROM (VALUES {values}) AS t(text)) TO '{tmp_path / name}' (FORMAT {form})"
        )
    else:
        program(tmp_path / name, LISTS)
    assert words_of(tmp_path / name) == LISTS


@pytest.mark.parametrize(("cells", "message"), [
    (["['x' 'y']", "['z']"], r"row 1: .* is not a list in JSON or in Python's syntax"),
    (["[1, 2]", "['a']"], r"row 2: \['a'\]: .*; the first rows are of type list<.*: int64>"),
    (["[1, 2]", "a"], r"'a' is not a list in JSON"),
    (["[1.5]"], r"'\[1.5\]' is not a list of strings or of integers"),
    (["['a', 1]"], r"is not a list of strings or of integers"),
    (["{'a': 1}"], r"is not a list"),
    (["[array(['a'])]"], r"is not a list"),
])  # fmt: skip
def test_cells_that_are_not_lists_are_refused(tmp_path, cells, message):
    path = write_csv(tmp_path / "t.csv", cells)
    with pytest.raises(ValueError, match=message):
        words_of(path, lists="json")


@pytest.mark.parametrize("cell", ["['x' 'y']", "[1 2 3]", "[1.5, 2]", '["a", "b"]', "['it\\'s']"])
def test_cells_that_look_like_lists_are_refused(tmp_path, cell):
    path = write_csv(tmp_path / "t.csv", [cell] * 19 + [""] * 5 + ["a b"])
    with pytest.raises(ValueError, match="look like lists"):
        words_of(path)


@pytest.mark.parametrize(
    "cell", ["[" + "1" * 10_000 + "x", "['a'" + " " * 10_000 + "x", "[" * 10_000]
)
def test_cells_that_begin_like_lists_take_linear_time(tmp_path, cell):
    path = write_csv(tmp_path / "t.csv", [cell] * 50)
    assert words_of(path) == [cell.split()] * 50
    with pytest.raises(ValueError, match=r"row 1: .* is not a list"):
        words_of(path, lists="json")


def test_few_cells_in_brackets_are_text(tmp_path):
    texts = ["[music] hello [applause]", "[laughs]", "['a']", "b c", "d"]
    assert words_of(write_csv(tmp_path / "t.csv", texts)) == [text.split() for text in texts]


#: Tables that the default options read wrongly: content, message, and options that read them.
PLAIN_QUOTES = 'id\ttext\n1\tGreat "movie" x\n2\t"open a\n3\tb "c"\n4\t"d" e\n'
SPARK = 'id,text\n1,"hello \\"x, y\\" z"\n2,"b"\n3,c\n'
REFUSED = {
    "plain-quotes.tsv": (PLAIN_QUOTES, r"row 2 \(line 3\): a quoted cell contains a newline.*"
                         r"quotes are ordinary characters, pass quotechar=''", {"quotechar": ""}),
    "text-after-quote.tsv": ('text\n"Bad" he said\n', r"row 1 \(line 2\): text follows the closing "
                             r"quote.*pass quotechar=''", {"quotechar": None}),
    "spark.csv": (SPARK, r"row 1 .* quotes look escaped by backslashes: pass escapechar='\\\\'",
                  {"escapechar": "\\"}),
    "unclosed.csv": ('text\na\n"b\nc\n', r"row 2 \(line 3\): a quoted cell contains a newline",
                     {"quotechar": None}),
    "unclosed-at-end.csv": ('text\na\n"b', r"row 2 \(line 3\): a quoted cell is never closed",
                            {"quotechar": None}),
    "semicolons.csv": ("id;text\n1;a, b\n2;c\n", r"has no column 'text'; its columns are: id;text; "
                       r"cells look separated by ';': pass sep=';'", {"sep": ";"}),
    "tabs.csv": ("id\ttext\n1\ta, b\n", r"pass sep='\\t'", {"sep": "\t"}),
    "bars.csv": ("id|text\n1|a, b\n", r"pass sep='\|'", {"sep": "|"}),
    "commas.tsv": ("id,text\n1,a\n", r"pass sep=','", {"sep": ","}),
    "latin.csv": ("text\nä\n".encode("latin-1"), r"row 1 \(line 2\): b'\\xe4' is not UTF-8 text: "
                  r"pass the encoding", {"encoding": "latin-1"}),
    "latin-names.csv": ("größe,text\na,b\n".encode("latin-1"), r"the row of names \(line 1\): "
                        r"b'gr\\xf6\\xdfe' is not UTF-8 text", {"encoding": "latin-1"}),
    "wide.csv": ("text\nä b\n".encode("utf-16"), "looks like UTF-16: pass encoding='utf-16'",
                 {"encoding": "utf-16"}),
    "wide.jsonl": ('{"text": "ä b"}\n'.encode("utf-16"), "pass encoding='utf-16'",
                   {"encoding": "utf-16"}),
    "long-row.csv": ("id,text\n1,a, b\n", r"row 1 \(line 2\): 3 cells, but the first row has 2",
                     None),
    "short-row.csv": ("id,text\n1,a\n\n2\n", r"row 2 \(line 4\): 1 cell, but the first row has 2",
                      None),
    "gzip.csv": (b"\x1f\x8b\x08\0", "contains gzip data, unlike its suffix", None),
    "text.csv.gz": ("text\na\n", "contains no gzip data, unlike its suffix", None),
    "text.parquet": ("text\na\n", "is not Parquet, unlike its suffix: it begins with b'text", None),
    "text.orc": ("text\na\n", "is not ORC, unlike its suffix", None),
    "one.feather": (b"FEA1\0\0", "Feather 1", None),
    "columns.json": ('{"id":{"0":1},"text":{"0":"a b"}}', r"struct.*orient='records'", None),
    "pretty.json": ('{\n "text": "a"\n}\n', "line 1 is not a JSON object", None),
    "numbers.json": ("[1, 2]", "record 1 must be a JSON object, got 1", None),
    "damaged.json": ('[{"text": "a"}, {' + "'text': 1}, " + "x" * (1 << 23), "record 2 is not JSON",
                     None),
    "cut.json": ('[{"text": "a"}, {"te', "record 2 is not JSON", None),
    "more.json": ('[{"text": "a"}] x', "the array of records is followed by 'x'", None),
    "mixed.json": ('[{"text": "a"}, {"text": 2}]', "record 2: column 'text' is 2", None),
    "surrogate.jsonl": ('{"text": "\\ud800 a"}', "line 1: .* contains half a character", None),
    "huge.jsonl": ('{"text": [99999999999999999999]}', "line 1: .* of more than 64 bits", None),
    "integers.jsonl": ('{"text": 1}', "group the numbers of a sentence to a list first", None),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_tables_are_refused_with_a_cure_that_reads_them(tmp_path, name):
    content, message, cure = REFUSED[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    for read in (words_of, lambda path, column: read_by_library(TableSentences(path, column))):
        with pytest.raises(ValueError, match=message) as refused:
            read(path, "text")
        assert str(refused.value).startswith(f"{path}: ")
    if cure is not None and name.endswith("sv"):
        assert words_of(path, **cure) == words_by_pandas(path, **{"newlines": False} | cure)
    elif cure is not None:
        assert words_of(path, **cure) == [["ä", "b"]]


@pytest.mark.parametrize("n_rows", [0, 3, 2000])
def test_blocks_that_are_not_plain_are_read_after_plain_ones(tmp_path, monkeypatch, n_rows):
    """pyarrow parses the first blocks, and Python's csv module the rows from an inch mark on."""
    monkeypatch.setattr("gensim_tfw2v.corpus.tables.table_streams.BLOCK_BYTES", 1000)
    texts = [f"{number} a, b" for number in range(n_rows)] + ['5" disk', "c", 'a "b, c"']
    path = write_csv(tmp_path / "t.csv", texts)
    path.write_text(path.read_text().replace('"5"" disk"', '5" disk'))
    assert words_of(path) == words_by_pandas(path) == [text.split() for text in texts]
    with open(path, "a") as file:
        file.write("1,2,3\n")
    with pytest.raises(ValueError, match=rf"row {n_rows + 4:,} \(line {n_rows + 5:,}\): 3 cells"):
        words_of(path)


@pytest.mark.parametrize("name", ["t.jsonl", "t.json"])
def test_only_the_type_of_the_column_counts_in_json(tmp_path, monkeypatch, name):
    monkeypatch.setattr("gensim_tfw2v.corpus.tables.table_streams.BLOCK_BYTES", 1000)
    others = [1, "x", None, [1], {"a": 1}, 2.5, [["b"]]]
    rows = [{"o": others[number % 7]} for number in range(1000)] + [{"text": "a b", "o": 1}]
    rows += [{"o": 1, "text": None}, {"text": "c"}]
    lines = map(json.dumps, rows)
    (tmp_path / name).write_text("\n".join(lines) if name == "t.jsonl" else f"[{', '.join(lines)}]")
    assert words_of(tmp_path / name) == [[]] * 1000 + [["a", "b"], [], ["c"]]
    with pytest.raises(ValueError, match=r"has no column 'texts'; its columns are: o"):
        words_of(tmp_path / name, "texts")


def test_parts_of_spark_are_read_from_a_folder(tmp_path):
    """Imitated: the dialect and the files of ``frame.write.csv(path, header=True)``."""
    folder = tmp_path / "data"
    folder.mkdir()
    for number in range(2):
        write_csv(
            folder / f"part-0000{number}-c000.csv", QUOTES, escapechar="\\", doublequote=False
        )
    for name in ("_SUCCESS", "._SUCCESS.crc", ".part-00000-c000.csv.crc"):
        (folder / name).write_bytes(b"crc")
    assert words_of(folder, escapechar="\\") == [text.split() for text in QUOTES * 2]


def test_subfolders_are_named_or_read(tmp_path, caplog):
    folder = tmp_path / "data"
    folder.mkdir()
    for year in (1, 2):
        (folder / f"y={year}").mkdir()
        write_csv(folder / f"y={year}/part.csv", [f"year {year}"])
    only = r"contains no tables, only 2 subfolders \(y=1, y=2\): pass recursive=True"
    with pytest.raises(ValueError, match=only):
        words_of(folder)
    assert words_of(folder, recursive=True) == [["year", "1"], ["year", "2"]]
    assert not caplog.text
    write_csv(folder / "part.csv", ["top"])
    assert words_of(folder) == [["top"]]
    assert "2 subfolders are not read (y=1, y=2): pass recursive=True to read" in caplog.text
    assert words_of(folder, recursive=True) == [["top"], ["year", "1"], ["year", "2"]]


@pytest.mark.parametrize(("options", "message"), [
    ({"sep": "ab"}, "sep must be one character or None, got 'ab'"),
    ({"sep": "\n"}, "sep must be one character"),
    ({"quotechar": 1}, "quotechar must be one character or None, got 1"),
    ({"escapechar": '"'}, "sep, quotechar and escapechar must differ"),
    ({"header": 1}, "header must be 0 "),
    ({"header": True}, "header must be 0 "),
    ({"names": "ab"}, "names must be a list of strings, got 'ab'"),
    ({"names": ["a", "a"]}, "names must differ"),
    ({"names": ["text"]}, "has 2 columns, but names has 1"),
    ({"encoding": "latin-11"}, "encoding must be the name of an encoding"),
    ({"encoding": "ascii"}, "is not ascii text"),
    ({"lists": "python"}, "lists must be None or 'json'"),
    ({"newlines": "yes"}, "newlines must be True or False, got 'yes'"),
    ({"recursive": True}, "recursive=True has no effect on a file"),
])  # fmt: skip
def test_bad_options_are_refused(tmp_path, options, message):
    path = write_csv(tmp_path / "t.csv", WIDE)
    with pytest.raises((TypeError, ValueError), match=message):
        words_of(path, **options)


def test_characters_are_compared_with_the_separator_of_the_suffix(tmp_path):
    path = write_csv(tmp_path / "t.tsv", TEXTS, delimiter="\t", quotechar=",")
    assert [" ".join(words) for words in words_of(path, quotechar=",")] == [
        " ".join(text.split()) for text in TEXTS
    ]
    with pytest.raises(ValueError, match=r"t.tsv.*must differ, got '\\t', '\\t' and None"):
        words_of(path, quotechar="\t")


@pytest.mark.parametrize(("name", "options"), [
    ("t.parquet", {"sep": ";"}), ("t.parquet", {"encoding": "latin-1"}),
    ("t.jsonl", {"header": None}), ("t.json", {"newlines": True}),
    ("t.orc", {"escapechar": "\\"}), ("t.feather", {"names": ["a"]}),
])  # fmt: skip
def test_options_that_a_format_cannot_use_are_refused(tmp_path, name, options):
    by_pandas(tmp_path / name, TEXTS)
    with pytest.raises(ValueError, match=rf"{[*options][0]}=.* has no effect on .* files"):
        words_of(tmp_path / name, **options)


def test_lists_are_not_parsed_where_they_are_lists(tmp_path):
    by_pandas(tmp_path / "t.parquet", LISTS)
    with pytest.raises(
        ValueError, match="lists='json' has no effect on column 'text' of type list"
    ):
        words_of(tmp_path / "t.parquet", lists="json")


CELL = st.text(st.sampled_from("ab \"',;\\\n\r\té|"), max_size=6)
ROWS = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.lists(CELL, min_size=width, max_size=width), min_size=1, max_size=5)
)
DIALECTS = st.fixed_dictionaries({
    "delimiter": st.sampled_from(",;\t|"),
    "quotechar": st.sampled_from("\"'"),
    "doublequote": st.booleans(),
    "escapechar": st.sampled_from([None, "\\"]),
    "quoting": st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONE]),
    "lineterminator": st.sampled_from(["\n", "\r\n"]),
})  # fmt: skip


def written(path, rows, dialect):
    """Write rows; return whether the dialect can express them."""
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, **dialect).writerows(rows)
    except csv.Error:  # it needs an escape character
        return False
    return True


def parsed(path, dialect):
    """Return the rows that Python's csv module reads, strictly; None if it can't."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return [row for row in csv.reader(file, **dialect, strict=True) if row]
    except csv.Error:
        return None


@settings(max_examples=150, deadline=None)
@given(rows=ROWS, dialect=DIALECTS)
def test_random_dialects_are_read_as_they_were_written(tmp_path_factory, rows, dialect):
    path = tmp_path_factory.getbasetemp() / "written.csv"
    if not written(path, rows, dialect):
        return
    expected = parsed(path, dialect)
    options = {
        "sep": dialect["delimiter"],
        "quotechar": None if dialect["quoting"] == csv.QUOTE_NONE else dialect["quotechar"],
        "escapechar": dialect["escapechar"],
        "header": None,
        "newlines": True,
    }
    column = str(len(rows[0]) - 1)
    if not expected or {*map(len, expected)} != {len(rows[0])}:
        return  # some dialects can't be read back
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(list_cells, "look_like_lists", lambda cells: False)
        assert words_of(path, column, **options) == [row[-1].split() for row in expected]


@settings(max_examples=200, deadline=None)
@example(",\n\r", ",", None, None, False, 20)
@given(
    text=st.text(st.sampled_from("ab \"',;\\\n\r\té|"), max_size=30),
    sep=st.sampled_from(",;\t"),
    quotechar=st.sampled_from(['"', "'", None]),
    escapechar=st.sampled_from([None, "\\"]),
    newlines=st.booleans(),
    block=st.sampled_from([20, 1000]),
)
def test_random_texts_are_read_as_pandas_reads_them_or_refused(
    tmp_path_factory, text, sep, quotechar, escapechar, newlines, block
):
    path = tmp_path_factory.getbasetemp() / "text.csv"
    path.write_text(f"x{sep}y\n{text}", encoding="utf-8", newline="")
    assume(f"\r{sep}" not in text)  # pandas loses the separator after a blank line
    options = {"sep": sep, "quotechar": quotechar, "escapechar": escapechar, "newlines": newlines}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gensim_tfw2v.corpus.tables.table_streams.BLOCK_BYTES", block)
        try:
            words = words_of(path, "y", **options)
        except ValueError:
            return
    words = [row for row in words if row]
    assert words == [row for row in words_by_pandas(path, "y", **options) if row]


TEXT = st.text(st.sampled_from('ab "\\/\n\té☃𝄞\0{}[],:'), max_size=8)
VALUES = {
    "strings": TEXT,
    "lists": st.lists(st.none() | TEXT, max_size=3),
    "integers": st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=3),
}
OTHERS = st.none() | st.booleans() | st.floats(allow_nan=False) | TEXT | st.lists(TEXT, max_size=2)


@pytest.mark.parametrize("kind", VALUES)
@settings(max_examples=50, deadline=None)
@given(data=st.data(), block=st.sampled_from([200, 10_000]), indent=st.sampled_from([None, 1]))
def test_random_json_is_read_as_the_json_module_reads_it(
    tmp_path_factory, kind, data, block, indent
):
    optional = {"text": st.none() | VALUES[kind], "o": OTHERS, 'a "b"': OTHERS}
    records = data.draw(
        st.lists(st.fixed_dictionaries({}, optional=optional), min_size=1, max_size=12)
    )
    for records_before in ([], [{"text": None}] * 3):
        rows = [*records_before, *records]
        values = [row.get("text") or () for row in rows]
        words = [value.split() if kind == "strings" and value else value for value in values]
        words = [[word for word in row if word is not None] for row in words]
        lines = [json.dumps(row, ensure_ascii=data.draw(st.booleans())) for row in rows]
        folder = tmp_path_factory.getbasetemp()
        (folder / "random.jsonl").write_text("\n".join(lines), encoding="utf-8", newline="")
        (folder / "random.json").write_text(json.dumps(rows, indent=indent), encoding="utf-8")
        for name in ("random.jsonl", "random.json"):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("gensim_tfw2v.corpus.tables.table_streams.BLOCK_BYTES", block)
                patch.setattr(
                    "gensim_tfw2v.corpus.tables.list_cells.look_like_lists", lambda cells: False
                )
                if any("text" in row for row in rows):
                    assert words_of(folder / name) == words
                else:
                    with pytest.raises(ValueError, match="has no column 'text'"):
                        words_of(folder / name)


@pytest.mark.parametrize("text", ["\n\nid,text\n1,a b\n2,c\n", "\r\nid,text\r\n1,a b\r\n2,c\r\n"])
def test_blank_lines_before_the_names_are_skipped(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    assert words_of(path) == words_by_pandas(path) == [["a", "b"], ["c"]]
