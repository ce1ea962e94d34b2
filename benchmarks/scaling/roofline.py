"""How much of what a machine can do the kernel uses.

Williams, Waterman and Patterson 2009, "Roofline: An Insightful Visual Performance Model for
Multicore Architectures".
"""

import contextlib
import time

from gensim_tfw2v._tensorflow import tf
from gensim_tfw2v.planning import FLOAT, Workload

#: Side of the matrices whose product is timed, and for how many seconds.
SIZE, SECONDS = 1024, 2.0


def roofline(
    load: Workload, dtype: str, tokens_per_second: float, rows_per_token: float
) -> dict[str, float]:
    """Compare a kernel with the machine, in products of one thread.

    Parameters
    ----------
    rows_per_token : float
        Distinct rows of a step for each of its tokens.

    Returns
    -------
    dict
        ``flops_per_token`` of matrix products, and ``bytes_per_token`` of rows that are read and
        written and of copies for the blocks; ``products_per_second``, floating point operations
        that the kernel does, those that the `machine` does in one large product, and their
        `fraction`.
    """
    shape = load.shape
    if load.skipgram:  # scores, and the updates of both sides
        products = 3 * shape.columns * shape.inputs
    else:  # into and out of the hidden rows; scores, and the updates of both sides
        products = 2 * shape.centres * shape.inputs + 3 * shape.centres * (1 + shape.shared)
    flops = 2.0 * products * load.vector_size / shape.block
    # a step's rows are read, and read and written when its updates are added; each place of a
    # block has a copy of its row and of its update, which are written and read
    width = tf.as_dtype(dtype).size
    places = (shape.inputs + shape.columns) / shape.block
    moved = load.vector_size * (3 * FLOAT * rows_per_token + 2 * (width + FLOAT) * places)
    machine = products_per_second(dtype)
    return {
        "flops_per_token": flops,
        "bytes_per_token": moved,
        "products_per_second": flops * tokens_per_second,
        "machine": machine,
        "fraction": flops * tokens_per_second / machine,
    }


def products_per_second(dtype: str) -> float:
    """Floating point operations of one thread in a large product."""
    with contextlib.suppress(RuntimeError):  # TensorFlow takes it before its first op
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
