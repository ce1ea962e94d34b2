"""Docstrings of subclasses that describe the parameters of their base class, too."""

import inspect
import re

#: Sections of a docstring that subclasses inherit.
SECTIONS = ("Parameters", "Raises", "Attributes")


def inherit_sections(class_: type, base: type) -> None:
    """Add what a class shares with a base class to its docstring: parameters, errors, attributes.

    Entries of `base` follow those of `class_`, except of parameters that `class_` lacks. An entry
    of `class_` for a name that `base` describes, too, replaces the entry of `base` in its place.
    """
    if class_.__doc__ is None or base.__doc__ is None:  # python -OO
        return
    docstring, inherited = inspect.cleandoc(class_.__doc__), inspect.cleandoc(base.__doc__)
    accepted = inspect.signature(class_).parameters
    for section in SECTIONS:
        before, own, after = split_section(docstring, section)
        shared = split_section(inherited, section)[1]
        if section == "Parameters":
            shared = [entry for entry in shared if names_of(entry)[0] in accepted]
        if section != "Raises":  # an error may have several entries
            replacing = {names_of(entry)[0]: entry for entry in own}
            shared = [replacing.pop(names_of(entry)[0], entry) for entry in shared]
            own = [*replacing.values()]
        docstring = "".join((before, *own, *shared, "\n", after))
    class_.__doc__ = docstring


def split_section(docstring: str, title: str) -> tuple[str, list[str], str]:
    """Split a docstring into the text before a section's entries, the entries, and the rest."""
    found = re.search(rf"^{title}\n-+\n((?:[^\n]+\n|\n(?! *\n|\w[\w ]*\n-+\n))+)", docstring, re.M)
    if found is None:
        raise ValueError(f"no section {title!r}")
    entries = re.findall(r"^\S[^\n]*\n(?:^[ ][^\n]*\n|^\n(?=[ ]))*", found[1], re.MULTILINE)
    return docstring[: found.start(1)], entries, docstring[found.end() :].lstrip("\n")


def names_of(entry: str) -> list[str]:
    """Return the names that an entry describes: of ``a, b : int``, "a" and "b"."""
    return entry.partition("\n")[0].partition(" : ")[0].split(", ")
