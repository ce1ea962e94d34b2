"""Faults that ``python -m tests.mutants`` puts into modules."""

import pytest

from tests.mutants import draw, is_noticed, mutants

FAULTS = {
    "a < b": {"(a <= b)"},
    "a == b": {"(a != b)"},
    "a and b": {"(a or b)"},
    "a + b": {"(a - b)"},
    "not a": {"(a)"},
    "a = 3": {"a = (4)"},
    "a = 0.5": {"a = (1.0)"},
    "a = True": {"a = (False)"},
    "min(a)": {"(max)(a)", "pass"},
    "f(a, b=c)": {"(f(a))", "pass"},
    "a.b = c": {"pass"},
    "raise a": {"pass"},
    "def f():\n    return a": {"def f():\n    return None"},
    "if a:\n    b": {"if (not a):\n    b"},
    "try:\n    a\nexcept b:\n    c": {"try:\n    a\nexcept (()):\n    c"},
    '"a"; f"{a + b}"; logger.info(3)': set(),
    "def f(a: int = 1) -> int: ...": {"def f(a: int = (2)) -> int: ..."},
}


@pytest.mark.parametrize("source", FAULTS)
def test_faults_change_one_place(tmp_path, source):
    path = tmp_path / "module.py"
    path.write_text(source)
    texts = [mutant.text for mutant in mutants(path)]
    assert len(texts) == len(FAULTS[source]) and set(texts) == FAULTS[source]
    for text in texts:
        compile(text, "module.py", "exec")


def test_drawn_faults_are_of_different_lines_and_reproducible(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("a = 1 + 2\n" * 9)
    drawn = draw([path], 5, seed=1)
    assert len({mutant.start for mutant in drawn}) == 5
    assert draw([path], 5, seed=1) == drawn != draw([path], 5, seed=2)
    assert len(draw([path], 20, seed=1)) == 9


def test_fault_is_noticed_only_by_a_test_that_fails(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.mutants.ROOT", tmp_path)
    path = tmp_path / "module.py"
    path.write_text("one = 1\n")
    (tmp_path / "test_right.py").write_text("import module\ndef test(): assert module.one == 1\n")
    (tmp_path / "test_blind.py").write_text("import module\ndef test(): assert module.one\n")
    (tmp_path / "test_hangs.py").write_text("import time\ndef test(): time.sleep(600)\n")
    (mutant,) = mutants(path)
    assert is_noticed(mutant, tmp_path, ["test_right.py"], 60)
    assert not is_noticed(mutant, tmp_path, ["test_blind.py"], 60)
    assert is_noticed(mutant, tmp_path, ["test_hangs.py"], 1)
    assert path.read_text() == "one = 1\n"
    assert "-one = 1\n+one = (2)" in mutant.patch()
