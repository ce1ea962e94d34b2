"""``make quick`` finds the tests that import what has changed."""

import pytest

from tests import quick

FILES = {
    "gensim_tfw2v/__init__.py": """
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from gensim_tfw2v.model import Model
    """,
    "gensim_tfw2v/model.py": """
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from gensim_tfw2v import types_only
        def train():
            from gensim_tfw2v.training import session
    """,
    "gensim_tfw2v/types_only.py": "",
    "gensim_tfw2v/training/__init__.py": "",
    "gensim_tfw2v/training/session.py": "from gensim_tfw2v.compiled_library import load",
    "gensim_tfw2v/compiled_library.py": "",
    "gensim_tfw2v/alone.py": "",
    "tests/conftest.py": "",
    "tests/helper.py": "from gensim_tfw2v.training.session import Session",
    "tests/test_model.py": "from gensim_tfw2v import Model",
    "tests/test_session.py": "from tests import helper",
    "tests/test_patch.py": "PATCHED = 'gensim_tfw2v.training.session.LIMIT'",
    "tests/inner/conftest.py": "import gensim_tfw2v.alone",
    "tests/inner/test_alone.py": "import os",
}

NAMES = {name.removeprefix("tests/") for name in FILES if "/test_" in name}


@pytest.fixture
def tree(tmp_path, monkeypatch):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("\n        ", "\n"))
    monkeypatch.setattr(quick, "ROOT", tmp_path)
    forget_files()
    yield tmp_path
    forget_files()


def forget_files():
    for function in (
        quick.changed_files,
        quick.near_tests,
        quick.imports_of,
        quick.parse,
        quick.files_of_name,
        quick.exported_names,
    ):
        function.cache_clear()


@pytest.mark.parametrize(
    ("change", "further", "names"),
    [
        ("tests/test_model.py", 0, {"test_model.py"}),
        ("tests/helper.py", 0, {"test_session.py"}),
        ("gensim_tfw2v/model.py", 0, {"test_model.py"}),
        ("gensim_tfw2v/training/session.py", 0, {"test_patch.py"}),
        ("gensim_tfw2v/training/session.py", 1, NAMES - {"inner/test_alone.py"}),
        ("gensim_tfw2v/compiled_library.py", 0, {"test_patch.py"}),
        ("gensim_tfw2v/types_only.py", 9, set()),
        ("gensim_tfw2v/alone.py", 0, {"inner/test_alone.py"}),
        ("docs/page.md", 9, set()),
        ("tests/conftest.py", 0, NAMES),
    ],
)
def test_changed_file_selects_the_nearest_tests(tree, change, further, names):
    assert quick.near_tests(frozenset({change}), further) == {f"tests/{name}" for name in names}


def test_changed_and_new_files_are_found(tree, monkeypatch):
    outputs = {"diff": "a.py\ngensim_tfw2v/kernel/native/src/unit.h\n", "ls-files": "new.py\n"}
    monkeypatch.setattr(
        quick.subprocess, "check_output", lambda command, **options: outputs[command[1]]
    )
    paths = {"a.py", "gensim_tfw2v/kernel/native/src/unit.h", "new.py", quick.LIBRARY}
    assert quick.changed_files("HEAD") == paths
