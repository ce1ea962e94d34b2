"""``python -m benchmarks.scaling`` on a small text, with small real clusters."""

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
    main([*map(str, given)])
    return json.loads((folder / "scaling.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2])
def test_small_study_measures_and_simulates(tmp_path, monkeypatch, most):
    if most == 1:  # the whole corpus, too, is run with one worker: one part suffices
        monkeypatch.setattr(scaling_study, "PARTS", (8,))
    options = "--workers", "1,2,4", "--real", most, "--threads", 1, "--cores", 2
    document = study(tmp_path, *options)
    assert [real["measured"]["workers"] for real in document["real"]] == [1, 2][:most]
    real = document["real"][-1]
    assert real["measured"]["words_per_second"] > 1000
    assert real["threads_words_per_second"] > 1000
    assert real["measured"]["worker_cores"] > 0 and real["measured"]["ps_cores"] > 0
    assert 0.2 < real["predicted"]["words_per_second"] / real["measured"]["words_per_second"] < 5
    assert real["measured"]["coordinator_cores"] > 0 and real["measured"]["peak_bytes"] > 5e8
    for simulated in document["simulated"]:
        workers = [one["workers"] for one in simulated["rows"]]
        assert workers == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    written = (tmp_path / "scaling.md").read_text()
    assert written.count("\n| 2 cores, ") == 4


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--workers", "1,x", "--workers: '1,x': give whole numbers from 1 up"),
        ("--workers", "0", "--workers: '0'"),
        ("--epochs", "1", "--epochs: give 2 or more"),
        ("--net", "fast", "--net is 'fast'"),
    ],
)
def test_bad_options_are_rejected(tmp_path, capsys, option, value, message):
    with pytest.raises(SystemExit) as ended:
        main([datapath("lee_background.cor"), "--out", str(tmp_path), option, value])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
