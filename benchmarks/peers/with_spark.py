"""Spark MLlib's Word2Vec as a command: ``python -m benchmarks.peers.with_spark``.

Spark runs as one process, with ``--threads`` threads (``local[N]``) and as many partitions. MLlib
has only skip-gram with hierarchical softmax: ``--negative`` and ``--sample`` have no effect.
"""

import os
import time

from benchmarks.peers import adapter


def main() -> None:
    """Train, and write the vectors."""
    parser = adapter.parser(__doc__)
    parser.add_argument("--memory", default="4g", help="memory limit of the driver's JVM (4g)")
    args = parser.parse_args()
    if not args.sg:
        parser.error("MLlib has no CBOW")
    from pyspark.ml.feature import Word2Vec
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import col, split

    spark = (
        SparkSession.builder.master(f"local[{args.threads}]")
        .config("spark.driver.memory", args.memory)
        .config("spark.driver.maxResultSize", "0")  # each epoch sends all vectors to the driver
        .config("spark.driver.host", "localhost")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.execution.arrow.pyspark.enabled", "false")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    path = os.path.abspath(args.corpus)
    lines = spark.read.text(f"file://{path}").select(split(col("value"), " ").alias("words"))
    start = time.perf_counter()  # the time includes counting words, a part of fit()
    model = Word2Vec(
        inputCol="words",
        vectorSize=args.vector_size,
        windowSize=args.window,
        minCount=args.min_count,
        stepSize=args.alpha,
        maxIter=args.epochs,
        numPartitions=args.threads,
        maxSentenceLength=10_000,  # gensim's maximum
        seed=args.seed,
    ).fit(lines)
    seconds = time.perf_counter() - start
    rows = [(row["word"], row["vector"].toArray()) for row in model.getVectors().collect()]
    rows = [row for row in rows if row[0]]  # MLlib parses two consecutive blanks as an empty word
    adapter.write_text(args.vectors, args.vector_size, rows)
    spark.stop()
    adapter.done(seconds)


if __name__ == "__main__":
    main()
