"""``python -m benchmarks.scaling`` on a small text: real clusters, small ones."""

import json

import pytest
from gensim.test.utils import datapath

from benchmarks.scaling import study as scaling_study
from benchmarks.scaling.__main__ import main


def study(folder, *options):
    given = [
        datapath("lee_background.cor"), "--out", folder, "--rounds", 1, "--epochs", 2,
        "--vector-size", 16, "--no-plots", *options,
    ]  # fmt: skip
    assert main([*map(str, given)]) == 0
    return json.loads((folder / "scaling.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2])
def test_a_small_study(tmp_path, monkeypatch, most):
    if most == 1:  # the whole corpus is run with as many workers, too
        monkeypatch.setattr(scaling_study, "PARTS", (8,))
    options = "--workers", "1,2,4", "--real", most, "--seeds", "none", "--shared-text"
    document = study(tmp_path, *options)
    assert [real["measured"]["workers"] for real in document["real"]] == [1, 2][:most]
    real = document["real"][-1]
    assert real["measured"]["words_per_second"] > 1000
    assert real["measured"]["worker_cores"] > 0 and real["measured"]["ps_cores"] > 0
    assert 0.2 < real["predicted"]["words_per_second"] / real["measured"]["words_per_second"] < 5
    assert set(document["usage"][str(most)]) >= {"ps-0", f"worker-{most - 1}"}
    assert [one["workers"] for one in document["simulated"]] == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    written = (tmp_path / "scaling.md").read_text()
    assert "## Simulated" in written and "the text comes from a shared file system" in written


@pytest.mark.slow
def test_quality_of_as_many_as_there_are_not(tmp_path):
    document = study(tmp_path, "--workers", "1,12", "--real", 1, "--seeds", 1)
    qualities = {one["workers"]: one for one in document["quality"]}
    assert set(qualities) == {0, 1, 12}
    assert qualities[0]["staleness"] == qualities[1]["staleness"] == 0
    assert qualities[12]["staleness"] > 1  # a job does not know of some of the others' units
    assert "## Quality" in (tmp_path / "scaling.md").read_text()


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--workers", "1,x", "--workers is '1,x': give whole numbers from 1 on"),
        ("--workers", "0", "--workers is '0'"),
        ("--net", "fast", "--net is 'fast'"),
    ],
)
def test_what_cannot_be_used(tmp_path, capsys, option, value, message):
    with pytest.raises(SystemExit) as ended:
        main([datapath("lee_background.cor"), "--out", str(tmp_path), option, value])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
