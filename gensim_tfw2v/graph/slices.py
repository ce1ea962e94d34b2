"""Rows that are cut into slices by column; each slice is on the device that stores its columns.

The D columns of a row may be distributed over S devices, D / S columns each (Ordentlich et al.
2016, "Network-Efficient Distributed Word2vec Training System for Large Vocabularies", section 4).
`Slices.map` computes column-wise functions in each slice. `Slices.total` computes sums over the
columns, such as dot products: each device computes the sum over its columns, and the worker adds
these partial sums. Without distribution, the whole rows are a single slice, on the worker.
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
    """Connection between a worker and the devices of S slices, for the graph of one step.

    The methods are called while the step is traced, and add operations to its graph. Floats, such
    as products of rows and factors of rows, are sent in the dtype `wire`.
    """

    def __init__(self, devices: Sequence[str], wire: tf.DType) -> None:
        self.devices = tuple(devices)
        self.wire = wire
        self.begin()

    def begin(self) -> None:
        """Forget the copies and the traffic of previously traced steps."""
        # copies of a tensor on each device, by the tensor and the dtype in which it was sent
        self._copies: dict[tuple[object, tf.DType], list[tf.Tensor]] = {}
        # bytes of each message to and from a single device
        self._sent_bytes: list[tf.Tensor] = []
        self._received_bytes: list[tf.Tensor] = []

    def wire_dtype_of(self, tensor: tf.Tensor) -> tf.DType:
        """Return the dtype in which a tensor is sent. A `Payload` has its own dtype instead."""
        return self.wire if tensor.dtype.is_floating else tensor.dtype

    def send(self, tensor: tf.Tensor, dtype: tf.DType) -> list[tf.Tensor]:
        """Send a tensor to each device in this dtype, and return its copies there.

        If the tensor has already been sent in this dtype, the existing copies are returned.
        """
        key = tensor.ref(), dtype
        if key not in self._copies:
            message = tf.cast(tensor, dtype)
            self._sent_bytes.append(_bytes(message))
            copies = []
            for device in self.devices:
                with tf.device(device):
                    copies.append(tf.cast(message, tensor.dtype))
            self._copies[key] = copies
        return self._copies[key]

    def send_together(self, payloads: Sequence[Payload]) -> None:
        """Send integers to each device in a single message, because each message has a latency.

        Later calls of `send` for these tensors return the copies. The payloads' dtypes are int32 or
        uint16. At most one dimension of each shape may be unknown.
        """
        parts = [tf.reshape(tf.cast(*payload), [-1]) for payload in payloads]
        parts = [_halves(part) if part.dtype == tf.int32 else part for part in parts]
        sizes = tf.stack([tf.size(part) for part in parts])
        message = tf.concat([_halves(sizes), *parts], 0)
        self._sent_bytes.append(_bytes(message))
        for device in self.devices:
            with tf.device(device):
                received_sizes = _whole(message[: 2 * len(parts)])
                pieces = tf.split(message[2 * len(parts) :], received_sizes, num=len(parts))
                for (tensor, dtype), piece in zip(payloads, pieces, strict=True):
                    values = _whole(piece) if dtype == tf.int32 else tf.cast(piece, tensor.dtype)
                    shape = [-1 if size is None else size for size in tensor.shape]
                    copies = self._copies.setdefault((tensor.ref(), dtype), [])
                    copies.append(tf.reshape(values, shape))

    def receive(self, parts: Sequence[tf.Tensor], dtype: tf.DType) -> tf.Tensor:
        """Send a part from each device to the worker in this dtype, and return the parts' sum."""
        copies = []
        for device, part in zip(self.devices, parts, strict=True):
            with tf.device(device):
                message = tf.cast(part, dtype)
            # one S-th, because `traffic` multiplies by the number of devices
            self._received_bytes.append(_bytes(message) / len(parts))
            copies.append(tf.cast(message, part.dtype))
        return tf.add_n(copies)

    def traffic(self) -> tf.Tensor:
        """Return the bytes received from all devices, and sent to them, so far: [2], float32."""
        counts = [tf.add_n(x) if x else 0.0 for x in (self._received_bytes, self._sent_bytes)]
        return len(self.devices) * tf.stack(counts)


class MatrixEncoding:
    """Encoding in which matrices are sent to or from slices.

    This base class sends the matrices as they are. Subclasses send fewer elements.
    """

    def pack(self, matrices: tf.Tensor) -> tf.Tensor:
        """Encode matrices for sending."""
        return matrices

    def unpack(self, packed: tf.Tensor) -> tf.Tensor:
        """Decode received matrices."""
        return packed


#: Encoding that sends matrices as they are.
IDENTITY = MatrixEncoding()


class Slices:
    """Rows, or a column-wise function of rows, in S parts [..., D/S].

    Part s is on device s of `link`. A single part on the worker has no link (None).
    """

    def __init__(self, parts: Sequence[tf.Tensor], link: Link | None = None) -> None:
        self.parts = list(parts)
        self.link = link

    def map(
        self,
        function: Callable[..., tf.Tensor],
        *operands: Slices,
        tensors: Sequence[tf.Tensor | Payload] = (),
    ) -> Slices:
        """Apply a function to each slice, on the slice's device.

        Parameters
        ----------
        function : function (part, parts of operands, tensors) -> Tensor [..., D/S]
            Called once per device, with the parts of this object and of all operands on it.
        tensors : sequence of Tensor or Payload
            Tensors of the worker, which are sent to each device. Floats are sent in the link's
            dtype, a `Payload` in its own.
        """
        return Slices(self._apply(function, operands, tensors), self.link)

    def total(
        self,
        function: Callable[..., tf.Tensor],
        *operands: Slices,
        tensors: Sequence[tf.Tensor | Payload] = (),
        keep_dtype: bool = False,
    ) -> tf.Tensor:
        """Apply a function to each slice, as `map` does, and sum the results on the worker.

        Results are sent in the link's dtype or, with `keep_dtype`, in their own.
        """
        parts = self._apply(function, operands, tensors)
        if self.link is None:
            return parts[0]
        return self.link.receive(
            parts, parts[0].dtype if keep_dtype else self.link.wire_dtype_of(parts[0])
        )

    @property
    def dtype(self) -> tf.DType:
        """Dtype of the rows."""
        return self.parts[0].dtype

    def cast(self, dtype: tf.DType) -> Slices:
        """Cast the rows to a dtype."""
        return self if dtype == self.dtype else self.map(lambda x: tf.cast(x, dtype))

    def gather(self, indices: tf.Tensor, dtype: tf.DType, selection: slice = slice(None)) -> Slices:
        """Gather the rows of each block, in a dtype, by their indices: [blocks, n, D].

        Only the rows with the indices ``indices[:, selection]`` are gathered.
        """
        return self.map(
            lambda x, copy: tf.gather(tf.cast(x, dtype), copy[:, selection]),
            tensors=[as_uint16(indices)],
        )

    def products(self, operand: Slices, encoding: MatrixEncoding = IDENTITY) -> tf.Tensor:
        """Return the dot products of each row of a block with each row of that block in `operand`.

        The shape is [blocks, n, m] for n and m rows per block. Products that `encoding` omits are
        0.
        """
        packed = self.total(lambda y, x: encoding.pack(tf.matmul(y, x, transpose_b=True)), operand)
        return encoding.unpack(packed)

    def scale(self, factors: tf.Tensor) -> Slices:
        """Multiply each row by its factor [..., 1]."""
        return self.map(tf.multiply, tensors=[factors])

    def matmul(
        self, packed: tf.Tensor, encoding: MatrixEncoding = IDENTITY, transposed: bool = False
    ) -> Slices:
        """Multiply a matrix per block by the block's n rows: [blocks, m, D].

        The matrices are [blocks, m, n] or, if `transposed`, [blocks, n, m]. `packed` contains them
        in this `encoding`.
        """

        def multiply(x: tf.Tensor, packed_copy: tf.Tensor) -> tf.Tensor:
            return tf.matmul(encoding.unpack(packed_copy), x, transpose_a=transposed)

        return self.map(multiply, tensors=[packed])

    def __add__(self, operand: Slices) -> Slices:
        """Add rows element by element."""
        return self.map(tf.add, operand)

    def _apply(
        self,
        function: Callable[..., Any],
        operands: Sequence[Slices],
        tensors: Sequence[tf.Tensor | Payload],
    ) -> list[Any]:
        """Return the results of a function for each slice; for the arguments, see `map`."""
        # per argument of the function: its value on each device
        device_values = [self.parts, *(operand.parts for operand in operands)]
        if self.link is None:
            values = (x.tensor if isinstance(x, Payload) else x for x in tensors)
            return [function(*(part for (part,) in device_values), *values)]
        for x in tensors:
            device_values.append(
                self.link.send(*(x if isinstance(x, Payload) else (x, self.link.wire_dtype_of(x))))
            )
        results = []
        for device, *arguments in zip(self.link.devices, *device_values, strict=True):
            with tf.device(device):
                results.append(function(*arguments))
        return results


def _halves(integers: tf.Tensor) -> tf.Tensor:
    """Split integers [n], int32, into [2 n], uint16."""
    return tf.reshape(tf.bitcast(integers, tf.uint16), [-1])


def _whole(halves: tf.Tensor) -> tf.Tensor:
    """Join the halves [2 n], uint16, of integers to [n], int32."""
    return tf.bitcast(tf.reshape(halves, [-1, 2]), tf.int32)


def _bytes(tensor: tf.Tensor) -> tf.Tensor:
    """Return the size of a tensor in bytes: [], float32."""
    return tf.cast(tf.size(tensor), tf.float32) * tensor.dtype.size
