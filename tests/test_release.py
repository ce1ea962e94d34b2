"""A release has one version, the same Pythons everywhere, and links that an index can show."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

import gensim_tfw2v

try:
    import tomllib
except ModuleNotFoundError:  # before Python 3.11
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))


@pytest.fixture
def linked(tmp_path):
    """README.md and pyproject.toml after the step that adds links to them."""
    steps = WORKFLOW["jobs"]["build"]["steps"]
    (script,) = [step["run"] for step in steps if step.get("name") == "Add links to the repository"]
    for name in ("README.md", "pyproject.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    names = {"SERVER_URL": "https://host", "REPOSITORY": "some/one", "REF_NAME": "v1"}
    of_host = {f"GITHUB_{name}": value for name, value in names.items()}
    subprocess.run(["bash", "-ec", script], cwd=tmp_path, env=os.environ | of_host, check=True)
    return tmp_path


def test_readme_links_of_a_release_are_absolute(linked):
    links = re.findall(r"(!?)\[[^]]*\]\(([^)]+)\)", (linked / "README.md").read_text("utf-8"))
    assert len(links) > 15 and {picture for picture, _ in links} == {"", "!"}
    for picture, link in links:
        kind, path = re.fullmatch(
            r"https://host/some/one/(blob|raw)/v1/([^#]+)(?:#.*)?", link
        ).groups()
        assert kind == ("raw" if picture else "blob") and (ROOT / path).is_file(), link


def test_release_metadata_has_project_urls(linked):
    before, after = (
        tomllib.loads((folder / "pyproject.toml").read_text("utf-8")) for folder in (ROOT, linked)
    )
    urls = after["project"].pop("urls")
    assert after == before
    assert {*urls} == {"Repository", "Issues", "Changelog"}
    assert all(url.startswith("https://host/some/one") for url in urls.values())


def test_citation_has_the_package_version():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert cited["version"] == gensim_tfw2v.__version__


def test_python_classifiers_equal_the_tested_versions():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    assert WORKFLOW["jobs"]["test"]["strategy"]["matrix"]["python"] == named
    assert f">={named[0]}," in project["requires-python"]


def test_pages_do_not_install_from_an_index():
    """The package is not on an index yet, and someone else could publish under its name."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("cluster/*.md"), *ROOT.glob("docs/**/*.md")]
    pages += [*ROOT.glob("examples/*"), *ROOT.glob("gensim_tfw2v/**/*.py")]
    assert len(pages) > 100
    for page in pages:
        if page.is_file():
            text = page.read_text("utf-8")
            assert not re.search(r"pip install[^`\n]*\bgensim-tfw2v\b", text), page
