"""Hosts files: the addresses of a cluster's tasks, in JSON or YAML."""

import json
from pathlib import Path
from typing import Any

from gensim_tfw2v.cluster.spec import Cluster, ClusterError, from_addresses

#: What a hosts file looks like, for messages.
EXAMPLE = '{"chief": ["10.0.0.1:2222"], "ps": ["10.0.0.2:2222"], "worker": ["10.0.0.3:2222"]}'


def read_hosts(path: Path) -> Cluster:
    """Read a hosts file: for each role a list of ``host:port``; a chief is optional.

    Parameters
    ----------
    path : Path
        YAML if its name ends with ``.yaml`` or ``.yml``, else JSON.

    Raises
    ------
    ClusterError
        If it is not of that form, or no such cluster can be.
    ImportError
        If PyYAML is missing for a file in YAML.
    """
    try:
        addresses = _parsed(path)
        if not isinstance(addresses, dict):
            raise ClusterError("is no mapping from roles to addresses")
        return from_addresses(addresses, "it")
    except (ClusterError, UnicodeDecodeError) as error:
        raise ClusterError(f"{path}: {error}; it should be like {EXAMPLE}") from error


def _parsed(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    if path.suffix.lower() not in {".yaml", ".yml"}:
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            raise ClusterError(f"is no JSON ({error})") from error
    try:
        import yaml
    except ImportError as error:
        raise ImportError(
            f"{path}, a hosts file in YAML, needs PyYAML, which is missing. "
            'Run: pip install "gensim-tfw2v[cluster]"'
        ) from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ClusterError(f"is no YAML ({error})") from error
