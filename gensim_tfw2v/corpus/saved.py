"""Encoded corpora that stay on disk: a folder of shards, and what they are in corpus.json."""

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from gensim_tfw2v.corpus.shards import Shard, check_shards, in_folder
from gensim_tfw2v.corpus.workspace import explained

DESCRIPTION = "corpus.json"
FORMAT = 1


@dataclass(frozen=True)
class Description:
    """An encoded corpus: its shards in the order of the text, and totals of that text."""

    shards: list[Shard]
    total_raw_words: int
    total_sentences: int


def check_unused(folder: str | os.PathLike[str] | None) -> None:
    """Refuse a folder that holds an encoded corpus.

    Raises
    ------
    FileExistsError
    """
    if folder is not None and (Path(folder) / DESCRIPTION).exists():
        raise FileExistsError(
            f"{folder} holds an encoded corpus already: use it (EncodedCorpus.open), remove it, or "
            "name another folder"
        )


def keep(corpus: Description, folder: Path) -> Description:
    """Move the shards into a folder of the same file system; describe them there.

    The description comes last, and whole. If anything goes wrong nothing stays.
    """
    made: list[Path] = []
    shards: list[Shard] = []
    try:
        with explained(folder):
            for number, shard in enumerate(corpus.shards):
                made.append(folder / f"{number:05}.int32")
                os.replace(shard.path, made[-1])
                shards.append(replace(shard, path=made[-1].name))
            made.append(folder / f"{DESCRIPTION}.part")
            text = asdict(replace(corpus, shards=shards)) | {"format": FORMAT}
            made[-1].write_text(json.dumps(text, indent=1), encoding="utf-8")
            os.replace(made[-1], folder / DESCRIPTION)
    except BaseException:
        for path in made:
            path.unlink(missing_ok=True)
        raise
    return replace(corpus, shards=in_folder(shards, folder))


def described(folder: Path) -> Description:
    """Read the description of a kept corpus and check its files' sizes.

    Raises
    ------
    FileNotFoundError
        If there is no corpus, or one whose writing was not finished.
    ValueError
        If its files are not what was written.
    """
    try:
        text = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{folder} holds no finished encoded corpus (no {DESCRIPTION}): encode it again"
        ) from None
    if (form := text.pop("format")) != FORMAT:
        raise ValueError(f"{folder} has format {form}, not {FORMAT}: encode the corpus again")
    shards = in_folder([Shard(**shard) for shard in text.pop("shards")], folder)
    check_shards(shards)
    return Description(shards, **text)
