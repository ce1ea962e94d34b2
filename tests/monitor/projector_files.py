"""Files of the projector, as TensorBoard reads them."""

import numpy as np
from google.protobuf import text_format
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig


def embeddings(folder):
    config = text_format.Parse((folder / "projector_config.pbtxt").read_text(), ProjectorConfig())
    return list(config.embeddings)


def read(folder, embedding=None):
    """Return the configuration, the vectors and the table of a tensor; by default, of the only one.

    Vectors are read from text if that is their form; see `projector._encode_vectors`.
    """
    if embedding is None:
        (embedding,) = embeddings(folder)
    path = folder / embedding.tensor_path
    values = (
        np.fromfile(path, "<f4").reshape(embedding.tensor_shape)
        if path.suffix == ".bytes"
        else np.loadtxt(path, np.float32, delimiter="\t", ndmin=2)
    )
    assert values.shape == tuple(embedding.tensor_shape)
    content = (folder / embedding.metadata_path).read_bytes().decode()
    assert content.endswith("\n")
    return embedding, values, [row.split("\t") for row in content[:-1].split("\n")]
