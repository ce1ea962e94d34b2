"""Entry point of ``python -m gensim_tfw2v``, which is the command line tool ``tfw2v``."""

from gensim_tfw2v.cli.start import main

if __name__ == "__main__":
    main()
