"""Import of TensorFlow before forks, as in the package's fork server; it starts no threads."""

from gensim_tfw2v._tensorflow import tf

tf.float32  # noqa: B018  # reading an attribute imports it
