"""What a worker of a cluster runs: rows are fetched, units trained on them, changes pushed.

A job is a few units that the worker's threads train side by side on one copy of their rows
(Niu et al. 2011, "Hogwild!"), so that a row travels once for all of them.
"""

from typing import NamedTuple

import numpy as np

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.objectives.words import Words
from gensim_tfw2v.options import ClusterProgram
from gensim_tfw2v.regimes.combining import saturating_share
from gensim_tfw2v.regimes.scratch import Scratch, cached, unique_name
from gensim_tfw2v.regimes.sources import read_entries
from gensim_tfw2v.regimes.tables import Tables
from gensim_tfw2v.regimes.unit import PreparedUnit, UnitResult, prepare_unit


class Ledger(NamedTuple):
    """What the cluster has trained, counted where a worker's end cannot undo it.

    Attributes
    ----------
    pushes : Variable [], int64
        Units of all epochs.
    times : Variable [units], int32
        How often each unit of the epoch has been pushed.
    """

    pushes: tf.Variable
    times: tf.Variable


class JobResult(NamedTuple):
    """What a worker reports of a job.

    Attributes
    ----------
    units : UnitResult of Tensor [n]
        Of each unit.
    rows : Tensor [3], int32
        Rows fetched, and pushed, of each of the `Tables`.
    staleness : Tensor [], int64
        Units that others pushed between fetching and pushing.
    seconds : Tensor [3], float64
        Of fetching, with drawing and planning; of training; of pushing.
    """

    units: UnitResult
    rows: tf.Tensor
    staleness: tf.Tensor
    seconds: tf.Tensor

    def packed(self) -> tf.Tensor:
        """All in one Tensor, float64: each that a worker returns travels by a call of its own."""
        return tf.concat(
            [tf.reshape(tf.cast(part, tf.float64), [-1]) for part in tf.nest.flatten(self)], 0
        )

    @classmethod
    def unpacked(cls, packed: np.ndarray) -> "JobResult":
        """The same in arrays."""
        fields = len(UnitResult._fields)
        *units, rest = np.split(packed, np.arange(1, fields + 1) * ((len(packed) - 7) // fields))
        return cls(UnitResult(*units), rest[:3], rest[3], rest[4:])


def job_function(
    program: ClusterProgram,
    tables: Tables,
    words: Words,
    rates: Tables,
    ledger: Ledger,
) -> tf.types.experimental.PolymorphicFunction:
    """Build the ``tf.function`` that trains a job.

    Parameters
    ----------
    program : ClusterProgram
    tables : Tables of RowLayout
    words, rates : of Variable
        They never change; each worker keeps a copy. `rates` is what `pair_rates` gives.
    ledger : Ledger

    Returns
    -------
    function (sources, ranges, indices, keys, alphas) -> Tensor [4 n + 7], a packed `JobResult`
        sources : Tensor [n], string
        ranges : Tensor [n, 2], int32
            Of each of ``program.threads`` units; see `read_entries`. One may have no entries.
        indices : Tensor [n], int32
            Their places in the ledger; below 0 for none.
        keys : Tensor [n, 2], int32
        alphas : Tensor [n, 2], float32
    """
    unit, threads, wire = program.unit, program.threads, tf.as_dtype(program.wire_dtype)
    scratch = Tables(*(Scratch(unique_name(name), unit.vector_size) for name in Tables._fields))
    word_names = tf.nest.map_structure(lambda _: unique_name("words"), words)
    rate_names = Tables(*(unique_name("rates") for _ in rates))

    @tf.function(
        autograph=False,
        input_signature=[
            tf.TensorSpec([threads], tf.string),
            tf.TensorSpec([threads, 2], tf.int32),
            tf.TensorSpec([threads], tf.int32),
            tf.TensorSpec([threads, 2], tf.int32),
            tf.TensorSpec([threads, 2], tf.float32),
        ],
    )
    def train_job(sources, ranges, indices, keys, alphas):  # type: ignore[no-untyped-def]
        began = tf.timestamp()
        known = tf.nest.map_structure(cached, words, word_names)
        of_units = zip(*(tf.unstack(x) for x in (sources, ranges, keys, alphas)), strict=True)
        prepared = [
            prepare_unit(
                unit, known, read_entries(source, of_file, program.shared_corpus), key, alpha
            )
            for source, of_file, key, alpha in of_units
        ]
        ids, prepared, own_words = _own_ids(prepared, known)
        used = [name for name in Tables._fields if getattr(ids, name) is not None]
        splits = {name: getattr(tables, name).split(getattr(ids, name)) for name in used}
        pushed_before = tf.identity(ledger.pushes)
        fetched = {name: getattr(tables, name).fetch(splits[name], wire) for name in used}
        # what travelled is kept, not the float32 rows: those go into the scratch without a copy
        assigned = [getattr(scratch, n).assign(tf.cast(fetched[n], tf.float32)) for n in used]
        with tf.control_dependencies(assigned):
            fetched_at = tf.timestamp()
        with tf.control_dependencies([fetched_at]):
            # each thread has handles of its own: with the same they would take turns
            results = [
                part.train(unit, Tables(*(table.handle() for table in scratch)), own_words)
                for part in prepared
            ]
        with tf.control_dependencies(tf.nest.flatten(results)):
            trained_at = tf.timestamp()
        kept = tf.stack([part.kept for part in prepared])
        push = []
        with tf.control_dependencies([trained_at]):
            for name in used:
                changes = getattr(scratch, name).read() - tf.cast(fetched[name], tf.float32)
                if program.workers > 1:
                    known_rates = cached(getattr(rates, name), getattr(rate_names, name))
                    changes *= saturating_share(
                        tf.gather(known_rates, getattr(ids, name)),
                        tf.cast(tf.reduce_sum(kept), tf.float32),
                        alphas[0, 0],
                        program.workers,
                    )[:, None]
                push.append(getattr(tables, name).push(splits[name], changes, wire))
        with tf.control_dependencies(push):
            real = tf.boolean_mask(indices, indices >= 0)
            pushed_after = tf.identity(ledger.pushes)
            with tf.control_dependencies([pushed_after]):
                counted = tf.group(
                    ledger.pushes.assign_add(tf.size(real, tf.int64), read_value=False),
                    ledger.times.scatter_add(tf.IndexedSlices(tf.ones_like(real), real)),
                )
        with tf.control_dependencies([counted]):
            pushed_at = tf.timestamp()
        times = tf.stack([began, fetched_at, trained_at, pushed_at])
        return JobResult(
            UnitResult(*(tf.stack(parts) for parts in zip(*results, strict=True))),
            tf.stack([tf.size(getattr(ids, n)) if n in used else 0 for n in Tables._fields]),
            pushed_after - pushed_before,
            times[1:] - times[:-1],
        ).packed()

    return train_job


def _own_ids(
    prepared: list[PreparedUnit], words: Words
) -> tuple[Tables, list[PreparedUnit], Words]:
    """Number the rows that units use from 0.

    Returns
    -------
    ids : Tables of Tensor [n], int32
        The distinct ids of each table; None without use.
    prepared, words
        The same, with the new numbers.
    """
    ids = Tables(None, None, None)
    for name in Tables._fields:
        parts = [getattr(part.unit, name) for part in prepared]
        if parts[0] is None:
            continue
        if name == "nodes":
            parts.append(words.tree.top)
        distinct, numbers = tf.unique(tf.concat(parts, 0))
        own = tf.split(numbers, [tf.size(part) for part in parts], num=len(parts))
        ids = ids._replace(**{name: distinct})
        if name == "nodes":
            words = words._replace(tree=words.tree._replace(top=own.pop()))
        if name == "inputs" and words.lock.shape[0] != 0:
            words = words._replace(lock=tf.gather(words.lock, distinct))
        prepared = [
            part._replace(unit=part.unit._replace(**{name: number}))
            for part, number in zip(prepared, own, strict=True)
        ]
    return ids, prepared, words
