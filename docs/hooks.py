"""MkDocs hooks: pages from files outside this folder, and the reference of the command line.

The README, CONTRIBUTING, CHANGELOG and the operators' README become pages of the site. Any further
file that a page links to, such as a module or a script, becomes a page that shows the file. So the
same links work on the site and on a code host, and the build fails if a link's target is missing.
Results that were measured with kernels that have changed since get a line that says so.
"""

import json
import posixpath
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]

sys.path.append(str(ROOT))  # MkDocs loads this file without its folder

from benchmarks.report import notice  # noqa: E402

#: Page of the site for each file outside this folder that becomes a page of its own.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "cluster/README.md": "clusters/files.md",
}

#: Page of the site for each folder that pages link to.
FOLDERS = {"docs/benchmarks": "benchmarks.md"}

#: Folder of the site for pages that show files that pages link to.
SOURCES = "sources"

#: Suffix of notebooks, whose cells are shown without output.
NOTEBOOK = ".ipynb"

#: Languages for highlighting, by suffix. Files of any other suffix are shown as text.
LANGUAGES = {".py": "python", ".yaml": "yaml", ".sh": "sh", ".sbatch": "sh", ".toml": "toml"}

#: Section of a command in the reference. Its groups are the command's name and the first sentence
#: of its description.
_COMMAND = re.compile(r"^##+ `tfw2v ([\w -]+)`\n\n(.+?\.)\s.*?(?=^##|\Z)", re.MULTILINE | re.DOTALL)

#: Target of a link to a path, without its anchor. Links to addresses or anchors do not match.
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)(?=[)#])")


def on_files(files: Files, config: Any) -> Files:
    """Add pages for files outside this folder, and the reference of the command line."""
    for path, page in PAGES.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    files.append(File.generated(config, "command-line.md", content=_commands()))
    texts = {page.src_uri: page.content_string for page in files.documentation_pages()}
    while texts:
        uri, text = texts.popitem()
        for path, _ in _find_links(text, _origin(uri)):
            page = _page_of(path)
            if page.startswith(f"{SOURCES}/") and page not in files.src_uris:
                content = _file_page(path)
                files.append(File.generated(config, page, content=content))
                if path.endswith(NOTEBOOK):
                    texts[page] = content
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Replace links to files outside this folder by links to their pages."""
    uri = page.file.src_uri
    if uri.startswith(f"{SOURCES}/") and not _origin(uri).endswith(NOTEBOOK):
        return markdown
    for path, link in _find_links(markdown, _origin(uri)):
        target = posixpath.relpath(_page_of(path), posixpath.dirname(uri) or ".")
        markdown = re.sub(rf"(?<=\]\(){re.escape(link)}(?=[)#])", target, markdown)
    results = (ROOT / "docs" / uri).with_suffix(".json")
    if results.is_file():
        text = notice(json.loads(results.read_text(encoding="utf-8")))
        if text:
            markdown = markdown.replace("\n", f"\n\n*{text}*\n", 1)
    return markdown


def _commands() -> str:
    """Return the reference of the command line, in Markdown."""
    command = [sys.executable, "-m", "typer", "gensim_tfw2v.cli.main", "utils", "docs"]
    command += ["--name", "tfw2v", "--title", "Command line"]
    text = subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout
    sentences = set()
    for section in list(_COMMAND.finditer(text)):
        name = section[1]
        sentence = " ".join(section[2].split())
        # Typer's list of commands has truncated descriptions, which are replaced by whole
        # sentences, and hidden commands, which are removed: they are aliases, with the same
        # sentence.
        list_item = f"* [`{name}`](#tfw2v-{name.replace(' ', '-')}): {sentence}\n"
        is_alias = sentence in sentences
        if is_alias:
            text = text.replace(section[0], "")
            list_item = ""
        sentences.add(sentence)
        text = re.sub(rf"(?m)^\* `{name.split()[-1]}`: .*\n", list_item, text)
    return text


def _origin(page: str) -> str:
    """Return the path, relative to the repository, of the file that a page was made from."""
    if page.startswith(f"{SOURCES}/"):
        return page.removeprefix(f"{SOURCES}/").removesuffix(".md")
    paths = {page_uri: path for path, page_uri in PAGES.items()}
    return paths.get(page, f"docs/{page}")


def _find_links(markdown: str, origin: str) -> list[tuple[str, str]]:
    """Return pairs of a linked path, relative to the repository, and the link as written."""
    folder = posixpath.dirname(origin)
    links = dict.fromkeys(_LINK.findall(markdown))
    return [(posixpath.normpath(posixpath.join(folder, link)), link) for link in links]


def _page_of(path: str) -> str:
    """Return the page of the site for a file or folder of the repository."""
    if path in FOLDERS:
        return FOLDERS[path]
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"{SOURCES}/{path}.md"


def _file_page(path: str) -> str:
    """Return the Markdown of a page that shows a file."""
    if not (ROOT / path).is_file():
        raise PluginError(f"a page links to {path}, which does not exist")
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(NOTEBOOK):
        return "\n\n".join(_cell(cell) for cell in json.loads(text)["cells"])
    language = LANGUAGES.get(Path(path).suffix, "text")
    head = "---\nsearch:\n  exclude: true\nhide:\n  - toc\n---\n"
    return f"{head}# {path}\n\n{_fence(text, language)}"


def _cell(cell: Any) -> str:
    """Return the Markdown of a notebook's cell."""

    # An anchor of Jupyter is the heading with hyphens for blanks. An anchor of MkDocs is also in
    # lower case, and lacks punctuation.
    def convert_anchor(link: re.Match[str]) -> str:
        return re.sub(r"[^\w-]", "", link[0]).lower()

    text = re.sub(r"(?<=\]\(#)[^)\s]+(?=\))", convert_anchor, "".join(cell["source"]))
    return text if cell["cell_type"] == "markdown" else _fence(text, "python")


def _fence(text: str, language: str) -> str:
    """Return a block of code in Markdown."""
    return f"`````{language}\n{text}\n`````\n"
