"""Kernel of a checkpoint: resumed training uses the same one, because kernels round differently.

A kernel is compiled for an instruction set, which a different processor may lack.
"""

import logging
from pathlib import Path
from typing import Any

from gensim_tfw2v.kernel.native import by_ctypes
from gensim_tfw2v.training.checkpoints import CheckpointError

logger = logging.getLogger(__name__)


def can_use_kernel(kernel: str, folder: Path, shares_rows: bool, deterministic: bool) -> bool:
    """Return whether to resume with a checkpoint's kernel, which is not the default one.

    Parameters
    ----------
    kernel : str
        Name of the kernel.
    folder : Path
        Folder of the checkpoints, for the message.
    shares_rows : bool
        Whether threads of this process train. Workers use the default kernel of their process.
    deterministic : bool
        Whether the vectors must have the same bits.

    Raises
    ------
    CheckpointError
        If the kernel cannot be used, and training is deterministic. If training is not
        deterministic, a warning is logged instead.
    """
    kernels = by_ctypes.kernel_names()
    if kernel in kernels and shares_rows:
        logger.info("training with the kernel for %s, as before the checkpoint", kernel)
        return True
    reason = f"this processor cannot use (it can use {', '.join(kernels)})"
    cure = "resume on a processor like the first"
    if kernel in kernels:  # it is available, but workers use their default kernel
        reason = "is not the default here"
        cure = f"set TFW2V_ISA={kernel} for this program and for all tasks of the cluster"
    message = (
        f"{folder} has a checkpoint of a training run with the kernel for {kernel}, which {reason}"
    )
    if deterministic:
        raise CheckpointError(
            f"{message}. A different kernel would not give the same vectors: {cure}, or start "
            "from scratch with a different checkpoint_dir"
        )
    logger.warning("%s: training continues with one that rounds differently", message)
    return False


def note_kernel(model: Any, kernel: str) -> None:
    """Store the name of the kernel that deterministic training uses; warn if it has changed."""
    if model.kernel not in (None, kernel):
        logger.warning(
            "the model was trained by the kernel for %s, but training now uses the one for %s, "
            "which rounds differently: set TFW2V_ISA=%s for reproducible results",
            model.kernel,
            kernel,
            model.kernel,
        )
    model.kernel = kernel
