"""gensim's own tests of Word2Vec, run with compact vocabularies."""

import pytest

from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.keys import view_types
from gensim_tfw2v.keys.key_index import KeyIndex
from gensim_tfw2v.keys.key_list import KeyList
from tests import test_gensim_suite as suite

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("compact_keys"),
    pytest.mark.skipif(not view_types.IS_SUPPORTED, reason="Python without compact keys"),
]

# pytest collects the fixtures, classes and functions of this module
globals().update({name: value for name, value in vars(suite).items() if not name.startswith("_")})


def test_vocabularies_of_these_tests_are_compact():
    model = TFWord2Vec([["a", "b"]] * 2, min_count=1, vector_size=2)
    assert isinstance(model.wv.index_to_key, KeyList)
    assert isinstance(model.wv.key_to_index, KeyIndex)
    assert model.wv.index_to_key.compact_keys is not None
