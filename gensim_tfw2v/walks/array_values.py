"""Arrays that users pass: of NumPy, or tensors, which are converted."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Descriptions of the kinds of NumPy's types, for messages.
KINDS = {"iu": "integers", "biuf": "real numbers", "iuOU": "integers or strings"}


def as_array(name: str, value: Any, n_dimensions: int, kinds: str) -> NDArray[Any]:
    """Return an array or a tensor, on any device, as NumPy's array.

    Parameters
    ----------
    name : str
        Name for messages.
    value : object
        Array, tensor, or list of numbers.
    n_dimensions : int
        Number of dimensions that the array must have.
    kinds : str
        Kinds of NumPy's types that the array may have: a key of `KINDS`.

    Raises
    ------
    TypeError
        If the elements are of a different kind.
    ValueError
        If the number of dimensions is different.
    """
    if hasattr(value, "detach"):  # PyTorch's tensors may be on a GPU, and need gradients
        value = value.detach().cpu().numpy()
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} is not an array: {error}") from None
    if array.dtype.kind not in kinds and array.size:
        raise TypeError(
            f"{name} must be an array of {KINDS[kinds]}, got an array of type {array.dtype}"
        )
    if array.ndim != n_dimensions:
        raise ValueError(
            f"{name} must have {n_dimensions} dimension{'s' * (n_dimensions > 1)}, but has the "
            f"shape {array.shape}"
        )
    return array
