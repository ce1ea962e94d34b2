"""Commands and groups that explain a mistyped command line on one line.

Each message repeats the mistyped word, and states what is allowed and what to do. Values of options
are checked before Typer converts them, because Typer's messages do not repeat the value, and depend
on Typer's version. Older versions of Typer use click's parser, newer ones their own copy of it; the
code here works with both.
"""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, get_args, get_type_hints

import typer
from typer.models import ParameterInfo

from gensim_tfw2v.cli.common import BadInput
from gensim_tfw2v.cli.log import print_warnings
from gensim_tfw2v.cli.values import check_value
from gensim_tfw2v.messages import quoted

#: Base class of the errors of Typer's parser.
USAGE_ERROR: Any = typer.BadParameter.__bases__[0]

#: Settings of Typer for the tool and for commands that are parsed separately: the options for help.
#: A group passes them to its commands.
HELP = {"help_option_names": ["--help", "-h"]}

#: Our options, by names that they have in word2vec.c, fastText, older gensim and similar tools.
SYNONYMS = {
    "size": "--vector-size",
    "dim": "--vector-size",
    "dimensions": "--vector-size",
    "iter": "--epochs",
    "iterations": "--epochs",
    "epoch": "--epochs",
    "thread": "--workers",
    "threads": "--workers",
    "jobs": "--workers",
    "lr": "--alpha",
    "learning-rate": "--alpha",
    "top": "--topn",
    "topk": "--topn",
    "top-k": "--topn",
    "k": "--topn",
    "skipgram": "--sg",
    "skip-gram": "--sg",
    "neg": "--negative",
    "negatives": "--negative",
    "ws": "--window",
    "minn": "--min-n",
    "maxn": "--max-n",
    "mincount": "--min-count",
    "window-size": "--window",
    "representation-size": "--vector-size",
    "number-walks": "--num-walks",
    "weighted": "--weight",
    "out": "--output",
    "save": "--output",
    "format": "--to",
    "word": "--minus",
}

#: Characters that look like the "-" with which options begin.
DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"


class _ClearUsage:
    """Mix-in for a command or group: usage errors raise `BadInput` with a clear message."""

    def parse_args(self: Any, ctx: Any, args: list[str]) -> list[str]:
        """Check the form and the values of this command's arguments, then parse them."""
        if (
            ctx.resilient_parsing
            or not (args or self.params)
            or (self.no_args_is_help and not args)
        ):
            return super().parse_args(ctx, args)  # type: ignore[misc]
        typed = list(args)
        try:
            values, extra, _ = self.make_parser(ctx).parse_args(args=list(args))
            if not any(param.is_eager and param.name in values for param in self.get_params(ctx)):
                if extra and not ctx.allow_extra_args:
                    raise BadInput(_explain_extra(self, ctx, typed, values, extra))
                _check_values(self, typed, values)
            return super().parse_args(ctx, args)  # type: ignore[misc]
        except USAGE_ERROR as error:
            raise BadInput(_explain(self, ctx, typed, error)) from error


class Command(_ClearUsage, typer.core.TyperCommand):
    """Command of the tool."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and print the library's warnings unless --verbose prints its log."""
        with contextlib.nullcontext() if ctx.params.get("verbose") else print_warnings(self):
            return super().invoke(ctx)


class Group(_ClearUsage, typer.core.TyperGroup):
    """Group of commands."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first argument names; raise if there is none."""
        if self.get_command(ctx, args[0]) is None:
            raise BadInput(_explain_command(ctx, args[0]))
        return super().resolve_command(ctx, args)


def _check_values(command: Any, typed: Sequence[str], values: dict[str, Any]) -> None:
    """Raise if the declaration of an option or argument does not allow its value."""
    if command.callback is None:
        return
    hints = get_type_hints(inspect.unwrap(command.callback), include_extras=True)
    for param in command.params:
        value = values.get(param.name)
        label = _parameter_name(param, typed)
        if value is None and isinstance(param.envvar, str):
            value = os.environ.get(param.envvar) or None  # Typer ignores empty variables, too
            label = param.envvar
        # Declarations have the form Annotated[type, settings].
        annotation = get_args(hints.get(param.name))
        if len(annotation) < 2 or not isinstance(annotation[1], ParameterInfo):
            continue
        for text in value if isinstance(value, list | tuple) else [value]:
            if isinstance(text, str):
                check_value(label, text, annotation[0], annotation[1])


def _parameter_name(param: Any, typed: Sequence[str] = ()) -> str:
    """Return the name of a parameter for a message.

    The name of an option is the one that was typed, or otherwise its longest one. The name of an
    argument is its metavar.
    """
    if param.param_type_name == "argument":
        return (param.metavar or param.name.upper()).split()[0].strip("[].")
    typed_names = [word.split("=")[0] for word in typed]
    for name in param.opts:
        if name in typed_names:
            return name
    return max(param.opts, key=len)


def _explain(command: Any, ctx: Any, typed: Sequence[str], error: Any) -> str:
    """Return the message for an error of Typer's parser."""
    kind = type(error).__name__
    name = getattr(error, "option_name", "")
    if kind == "NoSuchOption":
        return _explain_option(command, ctx, typed, name)
    param = getattr(error, "param", None)
    if kind == "BadOptionUsage" and "not take" in error.message:
        word = next(word for word in typed if word.startswith(f"{name}="))
        return f"{quoted(word)}: {name} takes no value; leave out what follows it"
    if kind == "BadOptionUsage":
        param = next(param for param in command.params if name in param.opts)
        return f"{name} needs a value: {param.help}"
    if kind == "MissingParameter" and param is not None:
        return f"{_command_name(ctx)} needs {_parameter_name(param)}: {param.help}"
    return f"{error.format_message().rstrip('.')}; see {ctx.command_path} --help"


def _command_name(ctx: Any) -> str:
    """Return a command's name as it is typed after ``tfw2v``; "tfw2v" for the tool itself."""
    return ctx.command_path.partition(" ")[2] or ctx.command_path


def _explain_option(command: Any, ctx: Any, typed: Sequence[str], name: str) -> str:
    """Return the message for an unknown option, with similar ones and commands that have it."""
    if not name.startswith("--"):  # for -epochs the parser reports only one letter, such as -p
        words = (word for word in typed if word[0:1] == "-" != word[1:2] and name[1] in word)
        name = next(words, name)
    name = name.split("=")[0]
    options = {option.lstrip("-"): option for option in _option_names(command.get_params(ctx))}
    word = name.lstrip("-").replace("_", "-")
    synonym = SYNONYMS.get(word.casefold(), f"--{word}")
    if synonym in options.values():
        suggestions = [synonym]
    else:
        suggestions = [options[match] for match in get_close_matches(word.casefold(), options, 2)]
    message = f"{_command_name(ctx)} has no option {name if len(name) < 80 else quoted(name)}"
    if suggestions:
        return f"{message}. Did you mean {' or '.join(suggestions)}?"
    paths = [path for path, command in _commands(ctx) if name in _option_names(command.params)]
    if paths:
        message += f", which is an option of {', '.join(paths[:2])}"
    return f"{message}; see {ctx.command_path} --help"


def _option_names(params: Iterable[Any]) -> Iterator[str]:
    """Yield the names of the options among the parameters of a command."""
    for param in params:
        if param.param_type_name == "option":
            yield from (*param.opts, *param.secondary_opts)


def _explain_extra(
    command: Any, ctx: Any, typed: Sequence[str], values: dict[str, Any], extra: Sequence[str]
) -> str:
    """Return the message for extra arguments, for which the command has no parameter."""
    arguments = [
        _parameter_name(param) for param in command.params if param.param_type_name == "argument"
    ]
    message = f"{_command_name(ctx)} takes no arguments, but got {quoted(extra[0])}"
    if arguments:
        allowed = " and ".join(arguments)
        message = f"{_command_name(ctx)} takes only {allowed}, but got {quoted(extra[0])} too"
    # An option just before the extra word takes no value: otherwise the word would be its value.
    previous_word = typed[typed.index(extra[0]) - 1]
    if previous_word in _option_names(command.params):
        return f"{message}: {previous_word} takes no value; leave it out"
    if extra[0].startswith(tuple(DASHES)):
        return f"{message}: options begin with --, as in --{extra[0].lstrip(DASHES + '-')}"
    missing = [param for param in command.params if param.required and param.name not in values]
    missing += [param for param in command.params if param.name == "name"]
    if missing:
        return f"{message}: write {_parameter_name(missing[0])} before it if that was meant"
    return f"{message}; see {ctx.command_path} --help"


def _explain_command(ctx: Any, name: str) -> str:
    """Return the message for an unknown command, with similar ones of all groups."""
    message = f"{_command_name(ctx)} has no command {quoted(name)}"
    if name in ("help", "version"):
        return f"{message}: write {ctx.find_root().command_path} --{name}"
    paths: dict[str, list[str]] = {}
    for path, _ in _commands(ctx):
        paths.setdefault(path.rpartition(" ")[2], []).append(path)
    suggestions = [
        path for word in get_close_matches(name.casefold(), paths, 2, 0.7) for path in paths[word]
    ]
    if suggestions:
        return f"{message}. Did you mean {' or '.join(suggestions)}?"
    return f"{message}; see {ctx.command_path} --help"


def _commands(ctx: Any) -> Iterator[tuple[str, Any]]:
    """Yield the full name, such as "tfw2v cluster ls", and the object of each visible command."""
    root = ctx.find_root()

    def walk(path: str, group: Any) -> Iterator[tuple[str, Any]]:
        for name, command in group.commands.items():
            if not command.hidden:
                yield f"{path} {name}", command
            if hasattr(command, "commands"):
                yield from walk(f"{path} {name}", command)

    return walk(root.command_path, root.command) if hasattr(root.command, "commands") else iter(())
