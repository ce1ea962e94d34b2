"""Rows in slices of their columns, each on the device that holds it.

A row of D numbers may be dealt out to S devices, D / S of its columns to each (Ordentlich et al.
2016, "Network-Efficient Distributed Word2vec Training System for Large Vocabularies", section 4).
What is computed column by column is then computed in each slice, see `Slices.map`; and what is a
sum over the columns, as a dot product is, in each slice and over the slices, see `Slices.total`.
Whole rows are one slice, here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gensim_tfw2v._tensorflow import tf


class Payload(NamedTuple):
    """A tensor that slices need, and in which dtype it travels to them."""

    tensor: tf.Tensor
    dtype: tf.DType


def as_is(tensor: tf.Tensor) -> Payload:
    """A tensor that travels as it is."""
    return Payload(tensor, tensor.dtype)


def as_uint16(integers: tf.Tensor) -> Payload:
    """Integers below `MAX_ROWS`."""
    return Payload(integers, tf.uint16)


#: As many rows a step may have where rows are sliced.
MAX_ROWS = 1 << 16


class Link:
    """The way between a worker and the devices of S slices, while the graph of a step is built.

    Products of rows, and what they are multiplied by, travel in the dtype `wire`.
    """

    def __init__(self, devices: Sequence[str], wire: tf.DType) -> None:
        self.devices = tuple(devices)
        self.wire = wire
        self.begin()

    def begin(self) -> None:
        """Forget what belongs to the graph of another step."""
        self._there: dict[tuple[object, tf.DType], list[tf.Tensor]] = {}
        self._sent: list[tf.Tensor] = []
        self._received: list[tf.Tensor] = []

    def wire_dtype_of(self, tensor: tf.Tensor) -> tf.DType:
        """The dtype in which a tensor travels unless a `Payload` says another."""
        return self.wire if tensor.dtype.is_floating else tensor.dtype

    def send(self, tensor: tf.Tensor, dtype: tf.DType) -> list[tf.Tensor]:
        """The tensor at each device; it travels there once, in this dtype."""
        key = tensor.ref(), dtype
        if key not in self._there:
            travels = tf.cast(tensor, dtype)
            self._sent.append(_bytes(travels))
            arrived = []
            for device in self.devices:
                with tf.device(device):
                    arrived.append(tf.cast(travels, tensor.dtype))
            self._there[key] = arrived
        return self._there[key]

    def send_together(self, together: Sequence[Payload]) -> None:
        """Send integers in one message, before they are asked for: each message costs some time.

        They are int32 or uint16, and at most one dimension of each shape is unknown.
        """
        parts = [tf.reshape(tf.cast(*sent), [-1]) for sent in together]
        parts = [_halves(part) if part.dtype == tf.int32 else part for part in parts]
        sizes = tf.stack([tf.size(part) for part in parts])
        message = tf.concat([_halves(sizes), *parts], 0)
        self._sent.append(_bytes(message))
        for device in self.devices:
            with tf.device(device):
                sizes_there = _whole(message[: 2 * len(parts)])
                pieces = tf.split(message[2 * len(parts) :], sizes_there, num=len(parts))
                for (tensor, dtype), piece in zip(together, pieces, strict=True):
                    there = _whole(piece) if dtype == tf.int32 else tf.cast(piece, tensor.dtype)
                    shape = [-1 if size is None else size for size in tensor.shape]
                    arrived = self._there.setdefault((tensor.ref(), dtype), [])
                    arrived.append(tf.reshape(there, shape))

    def receive(self, parts: Sequence[tf.Tensor], dtype: tf.DType) -> tf.Tensor:
        """The sum of parts, one at each device; each travels here in this dtype."""
        arrived = []
        for device, part in zip(self.devices, parts, strict=True):
            with tf.device(device):
                travels = tf.cast(part, dtype)
            self._received.append(_bytes(travels) / len(parts))
            arrived.append(tf.cast(travels, part.dtype))
        return tf.add_n(arrived)

    def traffic(self) -> tf.Tensor:
        """Bytes so far, of all slices: received from them, and sent to them: [2], float32."""
        both = [tf.add_n(x) if x else 0.0 for x in (self._received, self._sent)]
        return len(self.devices) * tf.stack(both)


class Weights:
    """Encoding of matrices that travel to slices; by default none."""

    def pack(self, matrices: tf.Tensor) -> tf.Tensor:
        """Encode matrices for travel."""
        return matrices

    def unpack(self, packed: tf.Tensor) -> tf.Tensor:
        """The matrices again, from what has travelled."""
        return packed


IDENTITY = Weights()


class Slices:
    """Rows, or what is computed of them for each of their columns, in S parts [..., D/S].

    `link` leads to the devices that they are on; None if there is one part, here.
    """

    def __init__(self, parts: Sequence[tf.Tensor], link: Link | None = None) -> None:
        self.parts = list(parts)
        self.link = link

    def map(
        self,
        make: Callable[..., tf.Tensor],
        *others: Slices,
        sent: Sequence[tf.Tensor | Payload] = (),
    ) -> Slices:
        """Compute something of each slice, where it is.

        Parameters
        ----------
        make : function (part, parts of others, sent tensors) -> Tensor [..., D/S]
        sent : sequence of Tensor or Payload
            What the worker has; plain floats travel in the link's dtype.
        """
        return Slices(self._each(make, others, sent), self.link)

    def total(
        self,
        make: Callable[..., tf.Tensor],
        *others: Slices,
        sent: Sequence[tf.Tensor | Payload] = (),
        exact: bool = False,
    ) -> tf.Tensor:
        """Compute something of each slice, as `map` does, and its sum over the slices, here.

        `exact` says whether it travels as it is.
        """
        parts = self._each(make, others, sent)
        if self.link is None:
            return parts[0]
        return self.link.receive(
            parts, parts[0].dtype if exact else self.link.wire_dtype_of(parts[0])
        )

    @property
    def dtype(self) -> tf.DType:
        """The dtype of the rows."""
        return self.parts[0].dtype

    def cast(self, dtype: tf.DType) -> Slices:
        """The same rows in another dtype."""
        return self if dtype == self.dtype else self.map(lambda x: tf.cast(x, dtype))

    def gather(self, rows: tf.Tensor, dtype: tf.DType, which: slice = slice(None)) -> Slices:
        """Rows of [U, D] that each block has, some of its columns: [blocks, n, D]."""
        return self.map(
            lambda x, at: tf.gather(tf.cast(x, dtype), at[:, which]), sent=[as_uint16(rows)]
        )

    def products(self, others: Slices, weights: Weights = IDENTITY) -> tf.Tensor:
        """Dot products of each row of a block with each of another's: [blocks, n, m].

        Those that `weights` leaves out are 0.
        """
        packed = self.total(lambda y, x: weights.pack(tf.matmul(y, x, transpose_b=True)), others)
        return weights.unpack(packed)

    def dots(self, others: Slices) -> tf.Tensor:
        """Dot products of rows with the same rows of another: [blocks, n, 1]."""
        return self.total(lambda x, y: tf.reduce_sum(x * y, -1, keepdims=True), others)

    def scaled(self, factors: tf.Tensor) -> Slices:
        """Each row times its factor [..., 1]."""
        return self.map(tf.multiply, sent=[factors])

    def matmul(
        self, packed: tf.Tensor, weights: Weights = IDENTITY, transposed: bool = False
    ) -> Slices:
        """Matrices [blocks, m, n], or transposed [blocks, n, m], times rows: [blocks, m, D].

        `packed` is what `weights` makes of the matrices, or makes them of.
        """

        def multiply(x: tf.Tensor, there: tf.Tensor) -> tf.Tensor:
            return tf.matmul(weights.unpack(there), x, transpose_a=transposed)

        return self.map(multiply, sent=[packed])

    def __add__(self, other: Slices) -> Slices:
        """The sum, column by column."""
        return self.map(tf.add, other)

    def _each(
        self,
        make: Callable[..., Any],
        others: Sequence[Slices],
        sent: Sequence[tf.Tensor | Payload],
    ) -> list[Any]:
        parts = [self.parts, *(other.parts for other in others)]
        if self.link is None:
            here = (x.tensor if isinstance(x, Payload) else x for x in sent)
            return [make(*(part for (part,) in parts), *here)]
        for x in sent:
            parts.append(
                self.link.send(*(x if isinstance(x, Payload) else (x, self.link.wire_dtype_of(x))))
            )
        made = []
        for device, *arguments in zip(self.link.devices, *parts, strict=True):
            with tf.device(device):
                made.append(make(*arguments))
        return made


def _halves(integers: tf.Tensor) -> tf.Tensor:
    """Integers [n], int32, as [2 n], uint16."""
    return tf.reshape(tf.bitcast(integers, tf.uint16), [-1])


def _whole(halves: tf.Tensor) -> tf.Tensor:
    """The integers again."""
    return tf.bitcast(tf.reshape(halves, [-1, 2]), tf.int32)


def _bytes(tensor: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.size(tensor), tf.float32) * tensor.dtype.size
