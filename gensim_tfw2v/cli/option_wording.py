"""Rewording of the library's messages for the command line: options instead of arguments.

The library's messages name arguments, such as ``min_count=0``. The user of ``tfw2v`` typed an
option, such as ``--min-count 0``.
"""

from __future__ import annotations

import functools
import re
import shlex
from typing import Any

#: Parameters of commands whose names differ from those of the arguments in Python, with the latter.
PYTHON_NAMES = {"table_encoding": "encoding"}

#: Advice at the end of a message. It is removed, because only a program in Python can follow it.
_PYTHON_ADVICE = re.compile(
    r"\. The model's vectors are lost, because they were trained in place: .*"
)

#: Quoted value in a message. A value after "=" is excluded: it belongs to the name of an argument.
_QUOTED = re.compile(r"((?<![=\w])'[^']*'(?!\w))")

#: Words before a list of names of arguments, such as "a smaller alpha, window or negative".
_BEFORE_NAMES = r"set|leave out|lower|raise|a smaller|a larger"


def name_options(message: str, command: Any) -> str:
    """Replace names of Python arguments in a message by those of the command's options."""
    parts = _QUOTED.split(_PYTHON_ADVICE.sub("", message))
    # The parts with odd indices are the quoted values, which remain unchanged.
    parts[::2] = [_name_options_in_prose(part, command) for part in parts[::2]]
    return "".join(parts)


def _name_options_in_prose(message: str, command: Any) -> str:
    """Replace names of arguments by options in a part of a message without quoted values."""
    parameters = {PYTHON_NAMES.get(param.name, param.name): param for param in command.params}
    options = {name: max(param.opts, key=len) for name, param in parameters.items()}
    options = {name: option for name, option in options.items() if option.startswith("--")}

    any_name = rf"\b({'|'.join(options) or '(?!)'})\b(?![\w./(=-])"

    def replace_names(names: re.Match[str]) -> str:
        return re.sub(rf"(?<!-){any_name}", lambda name: options[name[1]], names[0])

    enumeration = rf"\b(?:{_BEFORE_NAMES}) {any_name}((, or|,| or| and) {any_name})*"
    message = re.sub(enumeration, replace_names, message)

    for name, option in options.items():
        param = parameters[name]
        start = rf"(?<!the )(?<!the third )(?<![\w./'-]){name}"
        # A name without "_" can be an ordinary word, so it is replaced only before these verbs.
        end = r"(?![\w./(=-])" if "_" in name else "(?= is | must | needs )"
        if param.is_flag:
            off = (param.secondary_opts or [option])[0]
            message = re.sub(f"{start}=(True|1)", option, message)
            message = re.sub(f"{start}=(False|0|None)", off, message)
        type_value = functools.partial(_type_value, option)
        message = re.sub(rf"{start}='([^' ]+)'", type_value, message)
        message = re.sub(f"{start}=", f"{option} ", message)
        message = re.sub(start + end, option, message)
    return message


def _type_value(option: str, literal: re.Match[str]) -> str:
    """Return an option and its value, matched as a Python literal, as they are typed in a shell."""
    value = literal[1].replace("\\\\", "\\")
    return f"{option} {shlex.quote(value)}"
