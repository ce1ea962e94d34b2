"""The docstrings of the three classes describe every parameter, and the reference shows them."""

import inspect
import re
from pathlib import Path

import griffe
import pytest

import gensim_tfw2v
from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec
from gensim_tfw2v.options.docstrings import inherit_sections, names_of, split_section
from gensim_tfw2v.options.kinds import Number, comparable, minutes, seed
from gensim_tfw2v.options.table import ARGUMENTS

ROOT = Path(__file__).parents[1]
CLASSES = (TFWord2Vec, TFFastText, TFDoc2Vec)

#: A range of numbers, as docstrings describe it.
RANGE = re.compile(
    r"\bfrom -?\d[\d,.]* (up|to (below )?-?\d)|\babove \d|\b[Aa]ny (finite )?number\b"
)


def entries(documented):
    """Return the description of each parameter in a docstring, by name."""
    docstring = inspect.cleandoc(documented.__doc__ or "") + "\n"
    if "Parameters\n---" not in docstring:
        return {}
    found = split_section(docstring, "Parameters")[1]
    return {name.lstrip("*"): entry for entry in found for name in names_of(entry)}


def shown(default):
    return getattr(default, "__name__", None) or repr(default).replace("'", '"')


def methods():
    """Public methods that this package defines, as (class, name)."""
    for class_ in CLASSES:
        for name, member in inspect.getmembers(class_, inspect.isroutine):
            module = getattr(member, "__module__", None) or ""
            if module.startswith("gensim_tfw2v") and not name.startswith("_"):
                yield class_, name


@pytest.mark.parametrize("class_", CLASSES)
def test_every_parameter_is_described_with_type_and_default(class_):
    described, parameters = entries(class_), inspect.signature(class_).parameters
    assert described.keys() == parameters.keys()
    for name, entry in described.items():
        first, *description = entry.splitlines()
        expected = shown(parameters[name].default)
        of_default = ", optional" if expected == "None" else f", default {expected}"
        assert re.fullmatch(rf"{name} : .+{re.escape(of_default)}|{name} : None, .+", first), first
        assert description, name


@pytest.mark.parametrize("class_", CLASSES)
def test_every_number_is_described_with_its_range(class_):
    for name, entry in entries(class_).items():
        kind = ARGUMENTS.get(name)
        is_number = isinstance(kind, Number) or kind in (comparable, minutes, seed)
        if is_number and " : 0 or 1, " not in entry:
            assert RANGE.search(" ".join(entry.split())), entry
        if isinstance(kind, Number) and abs(kind.minimum) < 2 and " : 0 or 1, " not in entry:
            assert f"from {kind.minimum:g} " in " ".join(entry.split()), entry


@pytest.mark.parametrize(("class_", "name"), list(methods()))
def test_parameters_of_methods_are_described(class_, name):
    method = getattr(class_, name)
    parameters = {**inspect.signature(method).parameters}
    parameters.pop("self", None)
    if not parameters:
        return
    described = entries(method)
    assert described.keys() == parameters.keys()
    for parameter, entry in described.items():
        first = entry.splitlines()[0]
        default = parameters[parameter].default
        if default is inspect.Parameter.empty:
            assert first.startswith("**") or " : " in first
        elif default is not None:
            assert first.endswith(f", default {shown(default)}")
        if re.search(r" : (int|float)\b", first):
            assert RANGE.search(" ".join(entry.split())), entry


@pytest.mark.parametrize("name", sorted({*gensim_tfw2v.__all__} - {"__version__"}))
def test_parameters_of_public_names_are_described(name):
    member = getattr(gensim_tfw2v, name)
    bases = inspect.getmro(member)[-2::-1] if inspect.isclass(member) else [member]
    parameters = inspect.signature(member).parameters
    described = {}
    for each in bases if parameters else ():
        described |= entries(each)
    assert described.keys() >= parameters.keys()
    for parameter, entry in described.items():
        if re.search(r" : (int|float)\b", entry.splitlines()[0]):
            assert RANGE.search(" ".join(entry.split())), entry
            default = shown(parameters[parameter].default)
            assert default == "None" or f", default {default}" in entry.splitlines()[0]


@pytest.fixture(scope="module")
def package():
    """The package as the reference reads it."""
    extensions = griffe.load_extensions(str(ROOT / "docs/signatures.py"))
    return griffe.load(
        "gensim_tfw2v", search_paths=[ROOT], allow_inspection=False, extensions=extensions
    )


@pytest.mark.parametrize("class_", CLASSES)
def test_reference_shows_the_docstring_and_the_defaults(package, class_):
    in_reference = package[f"{class_.__module__.partition('.')[2]}.{class_.__name__}"]
    assert in_reference.docstring.value == inspect.getdoc(class_)
    sections = in_reference.docstring.parse("numpy")
    (described,) = (section.value for section in sections if section.kind == "parameters")
    parameters = inspect.signature(class_).parameters
    assert [each.name for each in described] == [*entries(class_)]
    for each in described:
        assert str(each.default).replace("'", '"') == shown(parameters[each.name].default)


@pytest.mark.parametrize("class_", CLASSES)
def test_page_of_a_class_lists_its_methods(class_):
    page = (ROOT / f"docs/reference/{class_.__name__.lower()}.md").read_text("utf-8")
    listed = set(re.findall(r"^ +- (\w+)$", page, re.MULTILINE))
    expected = {name for each, name in methods() if each is class_}
    assert listed == expected - (set() if class_ is TFWord2Vec else {"from_vectors"})  # refused


def test_sections_are_inherited():
    class Base:
        """A base.

        Parameters
        ----------
        a : int
            Of the base.
        b : int
            Of the base.

            Two paragraphs.
        lacking : int
            Not in the subclass.

        Raises
        ------
        ValueError
            From the base.

        Attributes
        ----------
        x : int
            Of the base.
        """

    class Child(Base):
        """A child.

        Parameters
        ----------
        c : int
            Of the child.
        a : str
            Of the child.

        Raises
        ------
        ValueError
            From the child.

        Attributes
        ----------
        y : int
            Of the child.

        Examples
        --------
        >>> 1
        1
        """

        def __init__(self, a, b, c):
            pass

    inherit_sections(Child, Base)
    lines = re.sub(r"\n+", "\n", Child.__doc__).splitlines()
    described = [line for line in lines if " : " in line]
    assert described == ["c : int", "a : str", "b : int", "y : int", "x : int"]
    assert "    Two paragraphs." in lines and lines.count("ValueError") == 2
    assert Child.__doc__.endswith("Examples\n--------\n>>> 1\n1")
    assert "\n\n\n" not in Child.__doc__
