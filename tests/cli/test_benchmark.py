"""``tfw2v benchmark scaling`` on a small text: real clusters, small ones."""

import json

import pytest
from gensim.test.utils import datapath


def test_a_small_study(tfw2v, tmp_path):
    output = tfw2v(
        "benchmark", "scaling", datapath("lee_background.cor"), "--out", tmp_path, "--workers",
        "1,2,4", "--real", 2, "--rounds", 1, "--epochs", 2, "--seeds", 1, "--vector-size", 16,
        "--no-plots",
    ).output  # fmt: skip
    assert "written:" in output
    document = json.loads((tmp_path / "scaling.json").read_text())
    alone, real = document["real"]
    assert alone["measured"]["workers"] == 1
    assert real["measured"]["workers"] == 2 and real["measured"]["words_per_second"] > 1000
    assert real["measured"]["worker_cores"] > 0 and real["measured"]["ps_cores"] > 0
    assert 0.2 < real["predicted"]["words_per_second"] / real["measured"]["words_per_second"] < 5
    tasks = {"chief", "program", "ps-0", "worker-0", "worker-1"}
    assert set(document["usage"]["2"]) == tasks
    assert [one["workers"] for one in document["simulated"]] == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    qualities = {one["workers"]: one for one in document["quality"]}
    assert set(qualities) == {0, 1, 2, 4}
    assert qualities[0]["staleness"] == qualities[1]["staleness"] == 0
    assert qualities[4]["staleness"] > 0  # a job does not know of some of the others' units
    assert "## Quality" in (tmp_path / "scaling.md").read_text()


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--workers", "1,x", "--workers is '1,x': give whole numbers from 1 on"),
        ("--workers", "0", "--workers is '0'"),
        ("--net", "fast", "--net is 'fast'"),
    ],
)
def test_what_cannot_be_used(tfw2v, tmp_path, option, value, message):
    result = tfw2v(
        "benchmark", "scaling", datapath("lee_background.cor"), "--out", tmp_path, option, value,
        status=2,
    )  # fmt: skip
    assert message in result.output
