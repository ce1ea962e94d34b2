"""``python -m gensim_tfw2v.cli.supervised``: the tool, ended with the process that started it."""

import os
import signal
import threading

from gensim_tfw2v.cli.start import main


def end_with_parent() -> None:
    """End this process, like SIGTERM does, when its standard input is closed."""
    # not by way of sys.stdin, whose lock the end of the interpreter would wait for
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=end_with_parent, name="tfw2v-parent", daemon=True).start()
    main()
