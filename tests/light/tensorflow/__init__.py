"""Stub of TensorFlow that suffices to import the modules of the package."""


class Anything:
    """Object with every attribute; calls return decorators that change nothing."""

    def __getattr__(self, name):
        return self

    def __call__(self, *arguments, **options):
        return lambda function: function


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Anything()
