"""Descriptions of clusters: ``TF_CONFIG``, hosts files, and names such as "local:ps=2,worker=4".

The format of ``TF_CONFIG`` is TensorFlow's: it contains the addresses of all tasks by type, and the
type and index of this process's task
(https://www.tensorflow.org/guide/distributed_training#tf_config). Operators such as TFJob and
SageMaker write further types and keys into it.
"""

import contextlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gensim_tfw2v.cluster.spec import ROLES, Cluster, ClusterError, LocalTasks, Role, Task
from gensim_tfw2v.messages import (
    conversion_advice,
    decode_error_message,
    quoted,
    require,
    whole_number,
    wide_encoding,
)

#: Role of each type of task. SageMaker and TFJob write "master", TensorFlow 1's name of the chief.
ROLES_BY_TYPE: dict[str, Role] = {role: role for role in ROLES} | {"master": "chief"}

#: Type of tasks that evaluate models in other TensorFlow programs. Their addresses are ignored.
EVALUATOR = "evaluator"

#: Example of a hosts file, for messages.
HOSTS_EXAMPLE = '{"chief": ["10.0.0.1:2222"], "ps": ["10.0.0.2:2222"], "worker": ["10.0.0.3:2222"]}'

#: Example of a TF_CONFIG, for messages.
TF_CONFIG_EXAMPLE = f'{{"cluster": {HOSTS_EXAMPLE}, "task": {{"type": "worker", "index": 0}}}}'

#: Errors of JSON and YAML parsers, for text that is invalid or nested too deeply, and for numbers
#: with too many digits.
PARSE_ERRORS = (ValueError, RecursionError)

#: Pattern of the names of local clusters, such as "local:ps=2,worker=4".
_LOCAL_NAME = re.compile(r"local:ps=([1-9][0-9]{0,3}),worker=([1-9][0-9]{0,3})")


def parse_cluster(name: str | Cluster) -> Cluster | LocalTasks:
    """Return the cluster that a name stands for.

    ``"local:ps=2,worker=4"`` stands for tasks on this machine, ``"TF_CONFIG"`` for the cluster in
    the environment variable of that name. A `ClusterError` is raised for any other name.
    """
    require("cluster", "tensorflow")
    if isinstance(name, Cluster):
        return name
    if name == "TF_CONFIG":
        return from_tf_config(os.environ)[0]
    local = _LOCAL_NAME.fullmatch(name.replace(" ", "")) if isinstance(name, str) else None
    if not local:
        raise ClusterError(
            f"cluster is {quoted(name)}: give 'local:ps=P,worker=N' with P and N from 1 to 9999, "
            "'TF_CONFIG', or addresses (with tfw2v: --hosts FILE)"
        )
    return LocalTasks(*map(int, local.groups()))


def from_tf_config(environ: Mapping[str, str]) -> tuple[Cluster, Task]:
    """Read the cluster, and this process's task in it, from ``TF_CONFIG``.

    Parameters
    ----------
    environ : mapping
        Environment variables, such as ``os.environ``.

    Returns
    -------
    (Cluster, Task)
        The cluster, and this process's task.

    Raises
    ------
    ClusterError
        If ``TF_CONFIG`` is missing, is not in TensorFlow's format, or names a task that the
        cluster lacks.
    """
    advice = f"it should be like {TF_CONFIG_EXAMPLE}"
    text = environ.get("TF_CONFIG")
    if not text:
        raise ClusterError(f"TF_CONFIG is not set; {advice}")
    try:
        config = json.loads(text, object_pairs_hook=_make_mapping)
    except ClusterError as error:
        raise ClusterError(f"TF_CONFIG {error}") from error
    except PARSE_ERRORS as error:
        raise ClusterError(f"TF_CONFIG is not JSON ({error}); {advice}") from error
    parts = config if isinstance(config, dict) else {}
    for name in ("cluster", "task"):
        if not isinstance(parts.get(name), dict):
            raise ClusterError(f"TF_CONFIG has no {name!r}; {advice}")
    cluster = _from_addresses(parts["cluster"], "TF_CONFIG")
    role = _parse_role(parts["task"].get("type"))
    return cluster, cluster.task(role, _parse_index(parts["task"].get("index", 0)))


def _parse_role(name: Any) -> Role:
    """Return the role of the task of ``TF_CONFIG``."""
    if name == EVALUATOR:
        raise ClusterError(
            "TF_CONFIG makes this an evaluator, which training does not use: start only the ps, "
            "workers and chief"
        )
    if not isinstance(name, str) or name not in ROLES_BY_TYPE:
        raise ClusterError(
            f"TF_CONFIG has a task of the type {quoted(name)}; it should be ps, worker or chief, "
            f"as in {TF_CONFIG_EXAMPLE}"
        )
    return ROLES_BY_TYPE[name]


def _parse_index(index: Any) -> int:
    """Return the index of the task of ``TF_CONFIG``; some operators write it in quotes."""
    if isinstance(index, str):
        with contextlib.suppress(ValueError):
            return whole_number(index)
    if type(index) is not int:
        raise ClusterError(
            f"TF_CONFIG has a task with the index {quoted(index)}; it should be a whole number "
            f"from 0, as in {TF_CONFIG_EXAMPLE}"
        )
    return index


def read_hosts(path: Path) -> Cluster:
    """Read a hosts file: a list of ``host:port`` for each role; the chief is optional.

    Parameters
    ----------
    path : Path
        YAML if its name ends with ``.yaml`` or ``.yml``, otherwise JSON.

    Raises
    ------
    ClusterError
        If the file is invalid, or does not describe a valid cluster.
    ImportError
        If the file is in YAML, and PyYAML is missing.
    """
    try:
        addresses = _parse(path)
        if not isinstance(addresses, dict):
            raise ClusterError("is not a mapping from roles to addresses")
        return _from_addresses(addresses, "it")
    except ClusterError as error:
        raise ClusterError(f"{path}: {error}; it should be like {HOSTS_EXAMPLE}") from error


def _parse(path: Path) -> Any:
    """Return the content of a hosts file, parsed as JSON or YAML by the suffix of its name."""
    content = path.read_bytes()
    if encoding := wide_encoding(content[:64]):
        raise ClusterError(f"is not UTF-8 text. {conversion_advice(encoding)}")
    try:
        text = content.decode("utf-8-sig")  # Notepad and PowerShell write a byte order mark
    except UnicodeDecodeError as error:
        raise ClusterError(decode_error_message(error, 0)) from error
    if path.suffix.lower() not in {".yaml", ".yml"}:
        try:
            return json.loads(text, object_pairs_hook=_make_mapping)
        except ClusterError:
            raise
        except PARSE_ERRORS as error:
            raise ClusterError(
                f"is not JSON ({error}); if it is YAML, let its name end with .yaml"
            ) from error
    require(f"{path}, a hosts file in YAML,", "PyYAML", "yaml")

    import yaml

    class Loader(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            # Aliases are refused, because a few lines of them can expand to millions of items.
            if self.check_event(yaml.AliasEvent):
                alias = self.peek_event().anchor
                raise ClusterError(f"has the alias *{alias}: write the addresses out in full")
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            _make_mapping([(self.construct_object(key), None) for key, _ in node.value])
            return super().construct_mapping(node, deep)

    try:
        return yaml.load(text, Loader)
    except ClusterError:
        raise
    except (yaml.YAMLError, *PARSE_ERRORS) as error:
        raise ClusterError(f"is not YAML ({error})") from error


def _make_mapping(items: list[tuple[Any, Any]]) -> dict[Any, Any]:
    """Make a mapping from pairs of keys and values; raise a ClusterError if a key occurs twice."""
    keys = [key for key, _ in items]
    for key in keys:
        if keys.count(key) > 1:
            raise ClusterError(f"has {quoted(key)} twice: write one list of addresses for it")
    return dict(items)


def _from_addresses(addresses: Mapping[str, Any], source: str) -> Cluster:
    """Make a cluster from lists of addresses by role.

    `source` is the subject of error messages, such as "TF_CONFIG".
    """
    hosts_by_role: dict[Role, list[str]] = {role: [] for role in ROLES}
    for name, hosts in addresses.items():
        if name == EVALUATOR:
            continue
        if name not in ROLES_BY_TYPE:
            raise ClusterError(
                f"{source} has tasks of the type {quoted(name)}; known are {', '.join(ROLES)}"
            )
        if not isinstance(hosts, list) or not all(isinstance(host, str) for host in hosts):
            raise ClusterError(
                f"{source} has {quoted(hosts)} for {name}: write a list of addresses"
            )
        hosts_by_role[ROLES_BY_TYPE[name]] += hosts
    chiefs = hosts_by_role["chief"]
    if len(chiefs) > 1:
        raise ClusterError(
            f"{source} has {len(chiefs)} chiefs ({quoted(chiefs)}): at most one is allowed, as "
            "chief or as master"
        )
    return Cluster(
        tuple(hosts_by_role["ps"]), tuple(hosts_by_role["worker"]), next(iter(chiefs), None)
    )
