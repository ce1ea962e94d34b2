"""Models and other files that each release has written; later versions must load them.

The folder of a version is written once, by ``python -m tests.stored.make``, and never changed. Its
``MANIFEST.json`` lists the files, how each is loaded, and the contents that it must have.
tests/test_stored_models.py loads all of them.
"""
