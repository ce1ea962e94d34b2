"""Pages of docs/how-to run, and print what they show."""

import re

import pytest

from docs import how_to


@pytest.mark.parametrize("name", how_to.names())
def test_page_prints_what_it_shows(name, tmp_path):
    n_shown = 0
    for step, output in how_to.run(name, tmp_path):
        if step.shown is not None:
            n_shown += 1
            difference = how_to.difference(step.shown, output)
            assert not difference, f"docs/how-to/{name}.md:{step.line}: {difference}"
    assert n_shown, "the page shows no output"
    assert (tmp_path / f"{name}.svg").stat().st_size > 1000, "the page draws no picture"


def test_every_page_is_in_the_gallery_with_its_picture():
    gallery = (how_to.FOLDER / f"{how_to.GALLERY}.md").read_text(encoding="utf-8")
    for name in how_to.names():
        page = (how_to.FOLDER / f"{name}.md").read_text(encoding="utf-8")
        for text in page, gallery:
            assert re.search(rf"!\[[^\]]+\]\(pictures/{name}\.svg\)", text), name
        assert f"({name}.md)" in gallery
        assert (how_to.PICTURES / f"{name}.svg").is_file()
    assert len(list(how_to.PICTURES.iterdir())) == len(how_to.names())


def test_blocks_are_found_with_their_output():
    text = "a\n\n```python\n1\n```\n\n```text\nb\n```\n\n```sh\nls\n```\n\nc\n\n```text\nd\n```\n"
    assert how_to.steps(text) == [("python", "1\n", "b\n", 4), ("sh", "ls\n", None, 12)]


@pytest.mark.parametrize(
    ("shown", "output"),
    [
        ("a 0.62\n", "a 0.66\n"),
        ("a 1,000\n", "a 1,090\n"),
        ("[('a', 0.5)]", "[('a',  0.51)]"),
        ("a ... z", "a b\nc z"),
        ("5 of ... words/s", "5 of 3 M words/s"),
    ],
)
def test_outputs_that_agree(shown, output):
    assert not how_to.difference(shown, output)


@pytest.mark.parametrize(
    ("shown", "output"),
    [("a 0.62", "a 0.72"), ("a 0.62", "b 0.62"), ("a", "a b"), ("10", "12"), ("w1", "w2")],
)
def test_outputs_that_differ(shown, output):
    assert how_to.difference(shown, output)
