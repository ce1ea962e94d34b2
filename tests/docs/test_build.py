"""The site builds without warnings, shows every public name, and needs no other host."""

import builtins
import contextlib
import html
import inspect
import os
import re
import subprocess
import sys
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import griffe
import pytest
from gensim.models import Word2Vec

from tests.browser.chromium import chromium, find, one, texts, until, why_no_chromium
from tests.docs.pages import PAGES, ROOT

PACKAGE = "gensim_tfw2v"

#: Packages whose exported names are public. Exports of the remaining packages are internal.
PUBLIC = (PACKAGE, f"{PACKAGE}.cluster", f"{PACKAGE}.evaluation")

#: Errors that the package itself catches.
CAUGHT = ("BadInput", "Stopped", "Terminated")

#: Attributes that name a file to load, by tag.
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Folder of the built site."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert "WARNING" not in built.stdout + built.stderr
    return folder


@pytest.fixture(scope="module")
def package():
    """The package's modules and their members, parsed without an import.

    An import would load the compiled kernels, after which TensorFlow would not find their ops.
    """
    return griffe.load(PACKAGE, search_paths=[ROOT], allow_inspection=False)


def public_modules(module):
    yield module
    for child in module.modules.values():
        if not child.is_alias and not child.name.startswith("_"):
            yield from public_modules(child)


def public_members(container):
    """Yield classes, functions and methods that are public and defined in `container`."""
    for name, member in container.members.items():
        if member.is_alias or name.startswith("_"):
            continue
        if member.is_class:
            yield member
            yield from public_members(member)
        elif member.is_function:
            yield member


class Loads(HTMLParser):
    """Collects the files that a page loads."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        name = LOADED.get(tag)
        self.found += [value for key, value in attributes if key == name and value]


def test_site_has_its_pages(site):
    for page in ("index", "quick-start", "clusters/files", "changelog", "reference/cluster"):
        assert (site / f"{page}.html").is_file()
    benchmarks = {path.stem for path in (ROOT / "docs/benchmarks").glob("*.md")}
    assert {path.stem for path in (site / "benchmarks").glob("*.html")} == benchmarks
    assert "benchmarks.html" in (site / "index.html").read_text(encoding="utf-8")


def test_site_loads_nothing_from_other_hosts(site):
    pages, styles = ([*site.rglob(name)] for name in ("*.html", "*.css"))
    assert pages and styles
    for page in pages:
        loads = Loads()
        loads.feed(page.read_text(encoding="utf-8"))
        assert loads.found
        assert not [name for name in loads.found if re.match(r"(\w+:)?//", name)], page
    for style in styles:
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"(@import|url\()\s*[\"']?(\w+:)?//", text), style


@pytest.mark.skipif(bool(why_no_chromium()), reason=why_no_chromium())
@pytest.mark.parametrize("place", ["folder", "server"])
def test_search_and_colours_work_from_a_folder_and_a_server(site, place):
    with served(site) if place == "server" else contextlib.nullcontext(site.as_uri()) as address:
        with chromium() as driver:
            driver.get(f"{address}/reference/index.html")
            for expected in ("default", "slate"):
                one(driver, "label[for^=__palette]:not([hidden])").click()
                body = f"body[data-md-color-scheme={expected}]"
                until(body, partial(find, driver, body))
            field = driver.find_element("css selector", "input.md-search__input")
            field.click()
            field.send_keys("checkpoint_minutes")
            found = until(
                "results", lambda: texts(driver, ".md-search-result__item h1"), seconds=30
            )
            assert "TFWord2Vec" in found


@contextlib.contextmanager
def served(folder):
    """Serve the files of a folder; yield the address."""
    handler = partial(SilentHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class SilentHandler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.mark.skipif(bool(why_no_chromium()), reason=why_no_chromium())
@pytest.mark.parametrize("width", [390, pytest.param(1400, marks=pytest.mark.slow)])
def test_pages_are_not_wider_than_a_phone_or_a_screen(site, width):
    """Wide tables and blocks scroll by themselves."""
    wide = []
    with chromium() as driver:
        view = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", view)
        for page in sorted(site.rglob("*.html")):
            name = page.relative_to(site).as_posix()
            if not name.startswith("sources/"):
                driver.get(page.as_uri())
                shown = driver.execute_script("return document.documentElement.scrollWidth")
                if shown > width:
                    wide.append((name, shown))
    assert not wide


def test_command_reference_is_complete(site):
    page = (site / "command-line.html").read_text(encoding="utf-8")
    listed = re.findall(r'<li><a href="#(tfw2v-[\w-]+)"><code>[\w ]+</code></a>: (.+)</li>', page)
    sections = re.findall(r'<h[23] id="(tfw2v-[\w-]+)">', page)
    assert [name for name, _ in listed] == sections and len(sections) > 15
    assert all(text.endswith(".") and not text.endswith("...") for _, text in listed)
    assert "tfw2v-neighbours" in sections and "tfw2v-neighbors" not in sections  # an alias


def canonical(package, path):
    """Return the path where a name is defined; unchanged if the package lacks the name."""
    try:
        member = package[path.removeprefix(f"{PACKAGE}.")]
    except KeyError:
        return path
    return (member.final_target if member.is_alias else member).path


def is_exception(member):
    bases = [str(base) for each in (member, *member.mro()) for base in each.bases]
    return any(issubclass(getattr(builtins, base, object), BaseException) for base in bases)


def exceptions(package):
    """Yield paths of exception classes, except those that the package itself catches."""
    for module in public_modules(package):
        for member in public_members(module):
            if member.is_class and member.name not in CAUGHT and is_exception(member):
                yield member.path


def imported_by_users():
    """Yield names of the package that pages and examples import."""
    for path in (*PAGES, *(ROOT / "examples").iterdir()):
        if path.suffix in (".md", ".py", ".ipynb"):
            found = re.findall(
                rf"from ({PACKAGE}[\w.]*) import ([\w, ]+)", path.read_text(encoding="utf-8")
            )
            for module, names in found:
                yield from (f"{module}.{name.split()[0]}" for name in names.split(","))


@pytest.fixture(scope="module")
def missing(site, package):
    """Return a function that filters names which no page of the reference shows."""
    shown = set()
    for page in (site / "reference").glob("*.html"):
        ids = re.findall(r'id="([\w.]+)"', page.read_text(encoding="utf-8"))
        shown |= {canonical(package, path) for path in ids}
    return lambda names: {path for path in names if canonical(package, path) not in shown}


def test_every_exported_name_is_in_the_reference(missing, package):
    exported = {
        f"{module.path}.{name}"
        for module in public_modules(package)
        for name in module.exports or ()
        if module.path in PUBLIC and not name.startswith("_")
    }
    assert f"{PACKAGE}.TFWord2Vec" in exported and len(exported) > 20
    assert not missing(exported), "add them to a page of docs/reference"


def test_every_error_is_in_the_reference(missing, package):
    errors = {*exceptions(package)}
    assert len(errors) > 8
    assert not missing(errors), "add them to docs/reference/errors.md"


def test_every_name_imported_by_pages_is_in_the_reference(missing):
    imported = {*imported_by_users()}
    assert len(imported) > 5
    assert not missing(imported), "add them to a page of docs/reference"


def test_reference_shows_no_whole_modules(package):
    """A whole module would show its internal names too."""
    shown = [
        path
        for page in (ROOT / "docs/reference").glob("*.md")
        for path in re.findall(r"^::: (\S+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert len(shown) > 20
    assert not [path for path in shown if package[path.removeprefix(f"{PACKAGE}.")].is_module]


def test_reference_shows_gensims_parameters(site):
    page = (site / "reference/tfword2vec.html").read_text(encoding="utf-8")
    text = html.unescape(re.sub(r"<[^>]+>", "", page))
    assert "Bases: Additions" not in " ".join(text.split())
    for name, of_gensim in (("TFWord2Vec", Word2Vec), ("train", Word2Vec.train)):
        expected = set(inspect.signature(of_gensim).parameters) - {"self", "kwargs"}
        shown = [text[call.end() : call.end() + 2000] for call in re.finditer(rf"\b{name}\(", text)]
        assert any(
            all(re.search(rf"\b{each}(: [^=]+ )?=", call) for each in expected) for call in shown
        )


def test_every_public_name_has_a_docstring(package):
    modules = list(public_modules(package))
    members = [member for module in modules for member in public_members(module)]
    assert len(members) > 200
    assert not [each.path for each in (*modules, *members) if not each.docstring]


def test_docstrings_are_markdown(package):
    """Roles and footnotes of Sphinx would be shown literally."""
    for module in public_modules(package):
        for each in (module, *public_members(module), *module.attributes.values()):
            if each.docstring and not each.is_alias:
                sphinx = re.findall(r":\w+:`|\]_\b|^ *\.\. ", each.docstring.value, re.MULTILINE)
                assert not sphinx, each.path
