"""The command line tool ``tfw2v``: one file per command or group of commands.

Importing this package must stay cheap, because every ``--help`` imports it. gensim and TensorFlow
take seconds to import, so they are imported inside the functions that need them.
"""
