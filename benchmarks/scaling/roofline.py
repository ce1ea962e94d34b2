"""Roofline: the kernel's arithmetic throughput, as a fraction of the machine's.

Williams, Waterman and Patterson 2009, "Roofline: An Insightful Visual Performance Model for
Multicore Architectures".
"""

import contextlib
import time

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.planning.workload import FLOAT_BYTES, Workload

#: Number of rows and columns of the matrices whose product is timed, and seconds of timing.
SIZE, SECONDS = 1024, 2.0


def roofline(
    load: Workload, dtype: str, tokens_per_second: float, rows_per_token: float
) -> dict[str, float]:
    """Compare a kernel with the machine, by floating point operations on one thread.

    Parameters
    ----------
    rows_per_token : float
        Number of distinct rows of a step, divided by its tokens.

    Returns
    -------
    dict
        ``flops_per_token``: operations in matrix products. ``bytes_per_token``: bytes of rows read
        and written, and of copies for the blocks. ``products_per_second``: the kernel's operations
        per second. ``machine``: operations per second in one large product. ``fraction``: their
        ratio.
    """
    shape = load.shape
    if load.skipgram:  # scores, and updates of inputs and outputs
        products = 3 * shape.columns * shape.inputs
    else:  # hidden rows and their gradients; scores, and updates of hidden rows and outputs
        products = 2 * shape.centres * shape.inputs + 3 * shape.centres * (1 + shape.shared)
    flops = 2.0 * products * load.vector_size / shape.block
    # A step's rows are read once, and read and written once more to add updates. Each place of a
    # block has a copy of its row and of its update, both written and read.
    width = tf.as_dtype(dtype).size
    places = (shape.inputs + shape.columns) / shape.block
    moved = load.vector_size * (
        3 * FLOAT_BYTES * rows_per_token + 2 * (width + FLOAT_BYTES) * places
    )
    machine = products_per_second(dtype)
    return {
        "flops_per_token": flops,
        "bytes_per_token": moved,
        "products_per_second": flops * tokens_per_second,
        "machine": machine,
        "fraction": flops * tokens_per_second / machine,
    }


def products_per_second(dtype: str) -> float:
    """Return floating point operations per second of one thread in a large product."""
    with contextlib.suppress(RuntimeError):  # only allowed before TensorFlow's first op
        tf.config.threading.set_intra_op_parallelism_threads(1)
    one = tf.cast(tf.random.stateless_normal([SIZE, SIZE], [1, 2]), dtype)

    @tf.function(autograph=False)
    def product(x: tf.Tensor) -> tf.Tensor:
        return tf.matmul(x, x)

    product(one)
    rounds, began = 0, time.perf_counter()
    while (passed := time.perf_counter() - began) < SECONDS:
        product(one).numpy()
        rounds += 1
    return 2.0 * SIZE**3 * rounds / passed
