"""gensim's own tests of FastText, run with compact vocabularies."""

import pytest

from gensim_tfw2v.keys import view_types
from tests import test_gensim_fasttext as suite

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("compact_keys"),
    pytest.mark.skipif(not view_types.IS_SUPPORTED, reason="Python without compact keys"),
]

# pytest collects the fixtures, classes and functions of this module
globals().update({name: value for name, value in vars(suite).items() if not name.startswith("_")})
