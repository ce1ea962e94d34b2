"""Lines of texts read by Python, for systems without the compiled scanner."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from gensim_tfw2v.corpus import shard_files, text_streams
from gensim_tfw2v.corpus.scanner import FileRange
from gensim_tfw2v.corpus.sentence_corpus import SentenceCorpus
from gensim_tfw2v.corpus.shard_files import FIRST_TAG
from gensim_tfw2v.corpus.text_streams import CorpusDecodeError


class LineCorpus(SentenceCorpus):
    """Sentences of text files, which are passed as runs of file ranges.

    A sentence is a line, cut at 10,000 words. Empty lines are skipped. In `tagged` text, each line
    is a document: items are ([tag's entry], words), where the tag is the number of the line.
    """

    def __init__(self, runs: Iterable[Iterable[FileRange]], tagged: bool) -> None:
        super().__init__(self._sentences(), tagged)
        self._ranges = chain.from_iterable(runs)
        self.bytes_read = 0

    def _sentences(self) -> Iterator[Any]:
        """Yield the sentences or documents; raise `CorpusDecodeError` if a text is not UTF-8."""
        for line, words in enumerate(self._lines()):
            if self.tagged:
                yield [FIRST_TAG - line], words
                continue
            for start in range(0, len(words), shard_files.MAX_SENTENCE):
                yield words[start : start + shard_files.MAX_SENTENCE]

    def _lines(self) -> Iterator[list[str]]:
        for text in self._ranges:
            bytes_before = self.bytes_read
            offset = text.start
            with text.open() as stream:
                while (text.is_stream or offset < text.stop) and (line := stream.readline()):
                    try:
                        words = line.removesuffix(b"\n").decode().split()
                    except UnicodeDecodeError as error:
                        raise CorpusDecodeError(error, text.path, offset + error.start) from None
                    yield words
                    offset += len(line)
                    disk_offset = text_streams.bytes_read(stream) if text.is_stream else offset
                    self.bytes_read = bytes_before + min(disk_offset, text.stop) - text.start
            self.bytes_read = bytes_before + text.stop - text.start
