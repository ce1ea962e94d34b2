"""Programs that tests run in forked processes."""

import os
import socket
import sys


def main():
    what = sys.argv[1]
    if what == "say":
        print(*sys.argv[1:], os.environ["SAID"])
        print("an error", file=sys.stderr)
        sys.exit(3)
    if what == "run":
        del sys.argv[1]
        exec(sys.argv.pop(1), {"__name__": "__main__"})
    if what == "wait":
        sys.stdin.read()
    if what == "tell":  # output that has no reader any more
        sys.stdin.read()
        sys.stdout = os.fdopen(1, "w")  # buffered, even with PYTHONUNBUFFERED
        print("too late")
    if what == "listen":
        with socket.create_server(("127.0.0.1", int(sys.argv[2]))):
            print("listening", flush=True)
            sys.stdin.read()
    if what == "connect":
        socket.create_connection(("127.0.0.1", int(sys.argv[2])), 1).close()
    if what == "own":
        open(sys.argv[2], "w").close()
        print(os.geteuid(), os.getegid(), os.readlink("/proc/self/ns/user"))
    if what == "fail":
        raise ValueError("as asked")
    if what == "tensorflow":
        is_imported = "tensorflow.python.eager.context" in sys.modules
        from gensim_tfw2v._tensorflow import tf

        print(float(tf.function(lambda: tf.reduce_sum(tf.range(4.0)))()), is_imported)
