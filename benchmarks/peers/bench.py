"""Training by tools: run the command, then evaluate the vectors that it wrote."""

import argparse
import json
import re
import shlex
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from benchmarks.command import pairs
from benchmarks.failures import hide_paths
from benchmarks.peers.configured import Peer
from benchmarks.peers.evaluate import count_words
from benchmarks.peers.records import Job, PeerRun, Settings
from benchmarks.process import CommandError, Measured, call, run
from gensim_tfw2v.processes.threads import usable_cores


def train_seconds(peer: Peer, output: str) -> float | None:
    """Return the seconds of training that a tool prints; None if it prints none."""
    try:
        if peer.seconds is not None:
            return float(re.findall(peer.seconds, output)[-1])
        return float(json.loads(output.splitlines()[-1])["train_seconds"])
    except (IndexError, KeyError, TypeError, ValueError):  # the tool does not print its time
        return None


class Bench:
    """Runner of training commands on one corpus, with temporary files in `folder`."""

    def __init__(self, args: argparse.Namespace, settings: Settings, folder: Path) -> None:
        self._args, self._settings, self._folder = args, settings, folder
        self._limit = args.limit * 60
        counts = count_words(str(args.corpus))
        self.raw_words = sum(counts.values())
        words = [word for word, count in counts.most_common() if count >= settings.min_count]
        self._words = folder / "words.txt"
        self._words.write_text("\n".join(words), encoding="utf-8")

    def carry_out(self, peer: Peer, job: Job) -> PeerRun:
        """Train, and evaluate the vectors. After a failure, the result has the field `error`."""
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            vectors = Path(folder, "vectors")
            try:
                measured = self._train(peer, job, vectors)
                arguments = {
                    "vectors": str(vectors),
                    "binary": peer.format == "binary",
                    "words": str(self._words),
                    "pairs": pairs(self._args),
                }
                scores, _ = call(
                    "benchmarks.peers.evaluate:evaluate_file", arguments, limit=self._limit
                )
            except CommandError as error:
                print(f"{peer.name} failed: {error}", file=sys.stderr, flush=True)
                names_by_path = {
                    str(self._args.corpus.resolve()): "CORPUS",
                    str(self._folder): "TEMPORARY",
                }
                text = hide_paths(error, names_by_path)
                return PeerRun(**asdict(job), raw_words=self.raw_words, error=text)
        return PeerRun(
            **asdict(job),
            raw_words=self.raw_words,
            wall_seconds=measured.wall_seconds,
            cpu_seconds=measured.cpu_seconds,
            peak_bytes=measured.peak_bytes,
            train_seconds=train_seconds(peer, measured.output),
            **scores,
        )

    def _train(self, peer: Peer, job: Job, vectors: Path) -> Measured:
        values = self._settings.placeholders() | {
            "python": sys.executable,
            "corpus": str(self._args.corpus.resolve()),
            "vectors": str(vectors),
            "seed": job.seed,
            "epochs": job.epochs,
        }
        command = peer.fill_in(values)
        cores = usable_cores()[: self._settings.threads] if self._args.pin else None
        measured = run(command, cores=cores, limit=self._limit)
        if not vectors.is_file():
            raise CommandError(f"{shlex.join(command)}\nwrote no vectors")
        return measured
