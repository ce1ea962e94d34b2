"""Word2vec as slow, readable loops over pairs.

Draws are arguments, so that they equal those of the tested step. All updates of a step are computed
from the rows at its start, as in a minibatch.
"""

import numpy as np


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + np.exp(-x))


def windows(centres, block_inputs, left, right, shift):
    """Yield (block, centre, words of its window within the block's inputs) for each centre.

    centres [N, O] and block_inputs [N, I] are word ids of N blocks, left and right [N, O] the sides
    of the windows. Centre o is the same token as input ``o + shift``.
    """
    for block in range(len(centres)):
        for o, centre in enumerate(centres[block]):
            at = o + shift
            first, last = at - left[block, o], at + right[block, o]
            reached = range(max(0, first), min(block_inputs.shape[1] - 1, last) + 1)
            yield block, centre, [block_inputs[block, i] for i in reached if i != at]


def sampled(negatives, negative, skip_targets, shards=1):
    """Function that returns a centre's targets, (row, label, weight); negatives [N, S]."""

    def targets(block, centre):
        own = [n for n in negatives[block] if n % shards == centre % shards]
        share = negative / len(own)
        noise = [n for n in own if n != centre or not skip_targets]
        return [(centre, 1.0, 1.0), *((n, 0.0, share) for n in noise)]

    return targets


def turns(paths):
    """Function that returns targets of hierarchical softmax; paths: (nodes, codes) per word."""
    return lambda _, centre: [(n, 1.0 - code, 1.0) for n, code in zip(*paths[centre], strict=True)]


def predict(hidden, outputs, targets, alpha, d_outputs):
    """Predict targets from a row; return its update and the loss. Add theirs to `d_outputs`."""
    d_hidden, loss = np.zeros_like(hidden), 0.0
    for target, label, weight in targets:
        score = sigmoid(hidden @ outputs[target])
        g = alpha * weight * (label - score)
        d_hidden += g * outputs[target]
        d_outputs[target] += g * hidden
        loss -= weight * np.log(score if label else 1.0 - score)
    return d_hidden, loss


def skipgram_step(inputs, outputs, windows, targets, alpha):
    """Return (d_inputs [V, D], d_outputs [rows, D], loss) of one step."""
    d_inputs, d_outputs, loss = np.zeros_like(inputs), np.zeros_like(outputs), 0.0
    for block, centre, context in windows:
        for word in context:
            d_hidden, lost = predict(
                inputs[word], outputs, targets(block, centre), alpha, d_outputs
            )
            d_inputs[word] += d_hidden
            loss += lost
    return d_inputs, d_outputs, loss


def cbow_step(inputs, outputs, windows, targets, alpha, mean, corrected=False):
    """Return the same as `skipgram_step`, for CBOW; `mean` is gensim's cbow_mean.

    With `corrected`, inputs get the gradient of the loss.
    """
    d_inputs, d_outputs, loss = np.zeros_like(inputs), np.zeros_like(outputs), 0.0
    for block, centre, context in windows:
        if context:
            hidden = inputs[context].sum(0) / (len(context) if mean else 1)
            d_hidden, lost = predict(hidden, outputs, targets(block, centre), alpha, d_outputs)
            for word in context:
                d_inputs[word] += d_hidden / (len(context) if mean == corrected else 1)
            loss += lost
    return d_inputs, d_outputs, loss


def clipped(updates, max_norm):
    """Rows scaled down to a norm of at most `max_norm`."""
    norms = np.linalg.norm(updates, axis=1, keepdims=True)
    return updates * np.minimum(1.0, max_norm / np.maximum(norms, 1e-12))
