"""What modules of the package ask TensorFlow for while they are imported."""


class Anything:
    """Has every attribute, and makes decorators that change nothing."""

    def __getattr__(self, name):
        return self

    def __call__(self, *arguments, **options):
        return lambda function: function


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Anything()
