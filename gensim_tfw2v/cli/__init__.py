"""The command line tool ``tfw2v``: one file a command.

Importing this package must stay cheap, or every ``--help`` waits seconds: gensim and TensorFlow
are imported inside the functions that need them.
"""
