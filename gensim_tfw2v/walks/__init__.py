"""Random walks on graphs as a corpus: graphs that users pass, and the walks on them."""
