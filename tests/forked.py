"""What test_forkserver.py runs in other processes."""

import os
import sys


def main():
    what = sys.argv[1]
    if what == "say":
        print(*sys.argv[1:], os.environ["SAID"])
        print("an error", file=sys.stderr)
        sys.exit(3)
    if what == "wait":
        sys.stdin.read()
    if what == "fail":
        raise ValueError("as asked")
    if what == "tensorflow":
        from gensim_tfw2v._tensorflow import tf

        print(float(tf.function(lambda: tf.reduce_sum(tf.range(4.0)))()))
