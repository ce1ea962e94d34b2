"""Rows cut into slices of their columns; each slice is on the device that stores its columns.

The D columns of a row may be distributed over S devices, D / S columns each (Ordentlich et al.
2016, "Network-Efficient Distributed Word2vec Training System for Large Vocabularies", section 4).
`Slices.map` computes column-wise functions in each slice. `Slices.total` computes sums over the
columns, such as dot products: each slice computes partial sums, and the worker adds them. Whole
rows are one slice, on the worker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gensim_tfw2v._tensorflow import tf


class Payload(NamedTuple):
    """Tensor that slices need, and the dtype in which it is sent to them."""

    tensor: tf.Tensor
    dtype: tf.DType


def as_is(tensor: tf.Tensor) -> Payload:
    """Return a payload that is sent in the tensor's own dtype."""
    return Payload(tensor, tensor.dtype)


def as_uint16(integers: tf.Tensor) -> Payload:
    """Return a payload of integers below `MAX_ROWS` that is sent as uint16."""
    return Payload(integers, tf.uint16)


#: Maximum number of rows in a step if rows are sliced.
MAX_ROWS = 1 << 16


class Link:
    """Connection of a worker to the devices of S slices, while a step is traced.

    Products of rows, and the factors of rows, are sent in the dtype `wire`.
    """

    def __init__(self, devices: Sequence[str], wire: tf.DType) -> None:
        self.devices = tuple(devices)
        self.wire = wire
        self.begin()

    def begin(self) -> None:
        """Forget the tensors of previously traced steps."""
        self._there: dict[tuple[object, tf.DType], list[tf.Tensor]] = {}
        self._sent: list[tf.Tensor] = []
        self._received: list[tf.Tensor] = []

    def wire_dtype_of(self, tensor: tf.Tensor) -> tf.DType:
        """Return the dtype in which a tensor is sent unless it is a `Payload`."""
        return self.wire if tensor.dtype.is_floating else tensor.dtype

    def send(self, tensor: tf.Tensor, dtype: tf.DType) -> list[tf.Tensor]:
        """Return the tensor on each device; it is sent there only once, in this dtype."""
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
        """Send integers in one message, because each message takes some time.

        A later `send` of these tensors sends nothing. Their dtypes are int32 or uint16. At most one
        dimension of each shape may be unknown.
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
        """Return the sum of parts, one per device; each is sent to the worker in this dtype."""
        arrived = []
        for device, part in zip(self.devices, parts, strict=True):
            with tf.device(device):
                travels = tf.cast(part, dtype)
            self._received.append(_bytes(travels) / len(parts))
            arrived.append(tf.cast(travels, part.dtype))
        return tf.add_n(arrived)

    def traffic(self) -> tf.Tensor:
        """Return the bytes received from all slices and sent to them so far: [2], float32."""
        both = [tf.add_n(x) if x else 0.0 for x in (self._received, self._sent)]
        return len(self.devices) * tf.stack(both)


class MatrixEncoding:
    """Encoding of matrices that are sent to or from slices. This base class is the identity."""

    def pack(self, matrices: tf.Tensor) -> tf.Tensor:
        """Encode matrices for sending."""
        return matrices

    def unpack(self, packed: tf.Tensor) -> tf.Tensor:
        """Decode received matrices."""
        return packed


IDENTITY = MatrixEncoding()


class Slices:
    """Rows, or a column-wise function of rows, in S parts [..., D/S].

    `link` connects to the devices of the parts; it is None for a single part on the worker.
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
        """Apply a function to each slice, on its device.

        Parameters
        ----------
        make : function (part, parts of others, sent tensors) -> Tensor [..., D/S]
        sent : sequence of Tensor or Payload
            Tensors of the worker. Floats are sent in the link's dtype unless they are a `Payload`.
        """
        return Slices(self._each(make, others, sent), self.link)

    def total(
        self,
        make: Callable[..., tf.Tensor],
        *others: Slices,
        sent: Sequence[tf.Tensor | Payload] = (),
        exact: bool = False,
    ) -> tf.Tensor:
        """Apply a function to each slice, as `map` does, and sum the results on the worker.

        With `exact`, results are sent in their own dtype.
        """
        parts = self._each(make, others, sent)
        if self.link is None:
            return parts[0]
        return self.link.receive(
            parts, parts[0].dtype if exact else self.link.wire_dtype_of(parts[0])
        )

    @property
    def dtype(self) -> tf.DType:
        """Dtype of the rows."""
        return self.parts[0].dtype

    def cast(self, dtype: tf.DType) -> Slices:
        """Cast the rows to a dtype."""
        return self if dtype == self.dtype else self.map(lambda x: tf.cast(x, dtype))

    def gather(self, rows: tf.Tensor, dtype: tf.DType, which: slice = slice(None)) -> Slices:
        """Gather the rows of each block by their indices ``rows[:, which]``: [blocks, n, D]."""
        return self.map(
            lambda x, at: tf.gather(tf.cast(x, dtype), at[:, which]), sent=[as_uint16(rows)]
        )

    def products(self, others: Slices, encoding: MatrixEncoding = IDENTITY) -> tf.Tensor:
        """Compute dot products of each row of a block with each row of `others`: [blocks, n, m].

        Products that `encoding` omits are 0.
        """
        packed = self.total(lambda y, x: encoding.pack(tf.matmul(y, x, transpose_b=True)), others)
        return encoding.unpack(packed)

    def scaled(self, factors: tf.Tensor) -> Slices:
        """Multiply each row by its factor [..., 1]."""
        return self.map(tf.multiply, sent=[factors])

    def matmul(
        self, packed: tf.Tensor, encoding: MatrixEncoding = IDENTITY, transposed: bool = False
    ) -> Slices:
        """Multiply matrices [blocks, m, n], or transposed [blocks, n, m], by rows: [blocks, m, D].

        `packed` are the matrices in this `encoding`.
        """

        def multiply(x: tf.Tensor, there: tf.Tensor) -> tf.Tensor:
            return tf.matmul(encoding.unpack(there), x, transpose_a=transposed)

        return self.map(multiply, sent=[packed])

    def __add__(self, other: Slices) -> Slices:
        """Add rows element by element."""
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
    """Split integers [n], int32, into [2 n], uint16."""
    return tf.reshape(tf.bitcast(integers, tf.uint16), [-1])


def _whole(halves: tf.Tensor) -> tf.Tensor:
    """Join halves [2 n], uint16, to [n], int32."""
    return tf.bitcast(tf.reshape(halves, [-1, 2]), tf.int32)


def _bytes(tensor: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.size(tensor), tf.float32) * tensor.dtype.size
