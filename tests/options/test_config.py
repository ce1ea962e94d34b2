"""Options that exclude one another raise an error before anything is trained."""

import pytest

from gensim_tfw2v import TFDoc2Vec, TFFastText, TFWord2Vec

LOCAL = {"cluster": "local:ps=1,worker=1"}
COLUMNS = {"layout": "columns"}


@pytest.mark.parametrize(
    ("class_", "options", "message"),
    [
        (TFWord2Vec, {"deterministic": True, "regime": "asynchronous"}, "a regime of its own"),
        (TFWord2Vec, LOCAL | COLUMNS | {"deterministic": True}, "a regime of its own"),
        (TFWord2Vec, LOCAL | COLUMNS | {"regime": "downpour"}, "no rows to fetch and push"),
        (TFWord2Vec, COLUMNS, "set cluster"),
        (TFWord2Vec, {"regime": "submodels", "tables_dir": "tables"}, "cannot use tables_dir"),
        (TFDoc2Vec, LOCAL | {"dm_concat": 1}, "or dm_concat"),
        (TFDoc2Vec, {"dm_concat": 1, "regime": "asynchronous"}, "or dm_concat"),
        (TFFastText, LOCAL | COLUMNS, "'asynchronous', 'submodels' or 'synchronous'$"),
        (TFFastText, {"regime": "downpour"}, "'asynchronous', 'submodels' or 'synchronous'$"),
        (TFDoc2Vec, {"regime": "downpour"}, "no regime, 'asynchronous' or 'synchronous'$"),
        (TFDoc2Vec, {"regime": "submodels"}, "merges only vectors of words"),
    ],
    ids=str,
)
def test_options_that_exclude_one_another_raise(class_, options, message):
    with pytest.raises(ValueError, match=message):
        class_(**options)


@pytest.mark.parametrize(
    ("class_", "options"),
    [
        (TFWord2Vec, LOCAL | {"deterministic": True}),
        (TFWord2Vec, LOCAL | COLUMNS),
        (TFWord2Vec, {"regime": "downpour"}),
        (TFDoc2Vec, {"dm_concat": 1}),
        (TFDoc2Vec, LOCAL | {"dm": 0, "dm_concat": 1}),  # without windows nothing is concatenated
        (TFFastText, {"regime": "submodels"}),
        (TFDoc2Vec, {"regime": "synchronous"}),
    ],
    ids=str,
)
def test_options_that_fit_together_are_accepted(class_, options):
    model = class_(**options)
    config = model._current_config()
    assert {
        name: getattr(config, name) for name in options.keys() & {"deterministic", "layout"}
    } == {name: options[name] for name in options.keys() & {"deterministic", "layout"}}
    assert (config.regime is None) == ("regime" not in options)
    assert (config.cluster is None) == ("cluster" not in options)


@pytest.mark.parametrize("sign", [1, -1])
def test_learning_rate_of_the_configuration_has_no_sign(sign):
    assert TFWord2Vec(alpha=0.05 * sign, min_alpha=0.01 * sign)._current_config().alpha == 0.05
