from tests.cli.conftest import tfw2v

__all__ = ["tfw2v"]  # the fixture that runs the tool
