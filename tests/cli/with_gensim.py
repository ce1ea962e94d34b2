"""Run tfw2v with gensim's class: it starts quickly, and trains as slowly as requested.

Run as ``python -m tests.cli.with_gensim train …``.
"""

import signal

from gensim.models import Word2Vec

from gensim_tfw2v.cli import model_training
from gensim_tfw2v.cli.main import app

if __name__ == "__main__":
    # a process started in the background by a shell ignores Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
    model_training.model_class = lambda *_: Word2Vec
    app(prog_name="tfw2v")
