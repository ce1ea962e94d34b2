from tests.cli.conftest import tfw2v

__all__ = ["tfw2v"]  # fixture that runs the command
