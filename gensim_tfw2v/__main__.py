"""``python -m gensim_tfw2v`` is the command line tool ``tfw2v``."""

from gensim_tfw2v.cli.main import app

app(prog_name="tfw2v")
