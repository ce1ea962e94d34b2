"""PyYAML, which only some of what concerns clusters needs."""

from typing import Any


def yaml_module(what: str) -> Any:
    """PyYAML's module.

    Parameters
    ----------
    what : str
        What needs it, for the message.

    Raises
    ------
    ImportError
        Naming the command that installs it.
    """
    try:
        import yaml
    except ImportError as error:
        raise ImportError(
            f'{what} needs PyYAML, which is missing. Run: pip install "gensim-tfw2v[cluster]"'
        ) from error
    return yaml
