"""Tables of mistyped command lines, and what each prints.

A row is a command line, then lines indented by four blanks: the exit status and the message without
``tfw2v:``, and further messages. ``{name}`` stands for a file of `files`, `` ...`` for any text.
The command line may begin with environment variables, and end with ``<<< TEXT``, its
standard input.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TABLES = sorted(Path(__file__).parent.glob("*.txt"))


@dataclass(frozen=True)
class Mistake:
    """A row of a table."""

    typed: str
    status: int
    messages: tuple[str, ...]

    def command(self, files: dict[str, str]) -> tuple[list[str], str, dict[str, str]]:
        """Return the arguments, the standard input and the environment variables."""
        typed, _, text = self.typed.partition(" <<< ")
        words = [word.format(**files) for word in shlex.split(typed)]
        variables = {}
        while words and (name := re.match(r"([A-Z0-9_]+)=", words[0])):
            variables[name[1]] = words.pop(0)[name.end() :]
        return words, text.encode().decode("unicode_escape"), variables

    def pattern(self, files: dict[str, str]) -> str:
        """Return the regular expression of all that is printed on standard error."""
        lines = (re.escape(f"tfw2v: {line.format(**files)}\n") for line in self.messages)
        return "".join(lines).replace(re.escape(" ..."), ".*")


def read_table(path: Path) -> Iterator[Mistake]:
    """Yield the rows of a table."""
    for block in path.read_text("utf-8").split("\n\n")[1:]:
        typed, first, *more = block.strip("\n").split("\n")
        status, _, message = first.strip().partition(" ")
        yield Mistake(typed, int(status), (message, *map(str.strip, more)))


MISTAKES = {path.stem: list(read_table(path)) for path in TABLES}
