"""Training in forked processes."""

import multiprocessing
import os
import subprocess
import sys

import pytest
from gensim.test.utils import common_texts

from gensim_tfw2v import TFWord2Vec

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

TEXT = common_texts * 20


def trained(options):
    """Train; return the bytes of the vectors, the held-out loss, and whether traffic is None."""
    options = {"vector_size": 8, "min_count": 1, "workers": 1, "seed": 3, "sample": 0} | options
    model = TFWord2Vec(TEXT, **options)
    loss = None if "regime" in options else model.held_out_loss(TEXT)
    return model.wv.vectors.tobytes(), loss, model.traffic is None


@pytest.mark.parametrize(
    "options", [{"hs": 1}, {"sg": 1, "regime": "downpour"}], ids=["threads", "regime"]
)
def test_forked_child_trains_as_its_parent(options):
    in_parent = trained(options)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        (in_child,) = pool.map_async(trained, [options]).get(120)
    assert in_child == in_parent


UNUSED = """
import os
from gensim.test.utils import common_texts
from gensim_tfw2v import TFWord2Vec
from gensim_tfw2v.processes.process_guards import tensorflow_is_lost

child = os.fork()
TFWord2Vec(common_texts, vector_size=8, min_count=1)  # trains in child and parent
assert not tensorflow_is_lost()
if not child:
    os._exit(0)
print(os.waitpid(child, 0)[1])
"""


def test_child_forked_before_any_training_can_train():
    done = subprocess.run(
        [sys.executable, "-c", UNUSED], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout == "0\n"
