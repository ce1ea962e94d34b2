"""Word2vec as slow loops over pairs, that anyone can read.

Same draws as the block kernel: they are given, not drawn. All updates of a step are computed
from the rows at its beginning, as in a minibatch.
"""

import numpy as np


def sigmoid(x: float) -> float:
    return 1.0 / (1.0 + np.exp(-x))


def skipgram_step(
    inputs,
    outputs,
    centres,
    block_inputs,
    left,
    right,
    negatives,
    negative,
    alpha,
    shift,
    skip_targets=True,
):
    """Return (d_inputs [V, D], d_outputs [V, D], loss) of one step.

    centres [N, O], block_inputs [N, I], left, right [N, O], negatives [N, S]: word ids and
    reaches of N blocks. Centre o is the same token as input ``o + shift``.
    """
    d_inputs, d_outputs, loss = np.zeros_like(inputs), np.zeros_like(outputs), 0.0
    share = negative / negatives.shape[1]
    for block in range(len(centres)):
        for o, centre in enumerate(centres[block]):
            at = o + shift
            first, last = at - left[block, o], at + right[block, o]
            reached = range(max(0, first), min(block_inputs.shape[1] - 1, last) + 1)
            for context in (block_inputs[block, i] for i in reached if i != at):
                targets = [(centre, 1.0, 1.0)]
                targets += [
                    (n, 0.0, share) for n in negatives[block] if n != centre or not skip_targets
                ]
                for target, label, weight in targets:
                    score = sigmoid(inputs[context] @ outputs[target])
                    g = alpha * weight * (label - score)
                    d_inputs[context] += g * outputs[target]
                    d_outputs[target] += g * inputs[context]
                    loss -= weight * np.log(score if label else 1.0 - score)
    return d_inputs, d_outputs, loss


def cbow_step(
    inputs,
    outputs,
    centres,
    block_inputs,
    left,
    right,
    negatives,
    negative,
    alpha,
    shift,
    mean,
    skip_targets=True,
):
    """As `skipgram_step`, for CBOW; `mean` is gensim's cbow_mean."""
    d_inputs, d_outputs, loss = np.zeros_like(inputs), np.zeros_like(outputs), 0.0
    share = negative / negatives.shape[1]
    for block in range(len(centres)):
        for o, centre in enumerate(centres[block]):
            at = o + shift
            reached = range(at - left[block, o], at + right[block, o] + 1)
            context = [block_inputs[block, i] for i in reached if i != at]
            if not context:
                continue
            hidden = inputs[context].sum(0) / (len(context) if mean else 1)
            d_hidden = np.zeros_like(hidden)
            targets = [(centre, 1.0, 1.0)]
            targets += [
                (n, 0.0, share) for n in negatives[block] if n != centre or not skip_targets
            ]
            for target, label, weight in targets:
                score = sigmoid(hidden @ outputs[target])
                g = alpha * weight * (label - score)
                d_hidden += g * outputs[target]
                d_outputs[target] += g * hidden
                loss -= weight * np.log(score if label else 1.0 - score)
            for word in context:
                d_inputs[word] += d_hidden / (1 if mean else len(context))
    return d_inputs, d_outputs, loss


def skipgram_tree_step(inputs, nodes, centres, block_inputs, left, right, paths, alpha, shift):
    """As `skipgram_step`, for hierarchical softmax; paths: for each word (nodes, codes)."""
    d_inputs, d_nodes, loss = np.zeros_like(inputs), np.zeros_like(nodes), 0.0
    for block in range(len(centres)):
        for o, centre in enumerate(centres[block]):
            at = o + shift
            reached = range(at - left[block, o], at + right[block, o] + 1)
            for context in (block_inputs[block, i] for i in reached if i != at):
                for node, code in zip(*paths[centre], strict=True):
                    score = sigmoid(inputs[context] @ nodes[node])
                    g = alpha * (1 - code - score)
                    d_inputs[context] += g * nodes[node]
                    d_nodes[node] += g * inputs[context]
                    loss -= np.log(score if not code else 1.0 - score)
    return d_inputs, d_nodes, loss


def cbow_tree_step(inputs, nodes, centres, block_inputs, left, right, paths, alpha, shift, mean):
    """As `cbow_step`, for hierarchical softmax."""
    d_inputs, d_nodes, loss = np.zeros_like(inputs), np.zeros_like(nodes), 0.0
    for block in range(len(centres)):
        for o, centre in enumerate(centres[block]):
            at = o + shift
            reached = range(at - left[block, o], at + right[block, o] + 1)
            context = [block_inputs[block, i] for i in reached if i != at]
            if not context:
                continue
            hidden = inputs[context].sum(0) / (len(context) if mean else 1)
            d_hidden = np.zeros_like(hidden)
            for node, code in zip(*paths[centre], strict=True):
                score = sigmoid(hidden @ nodes[node])
                g = alpha * (1 - code - score)
                d_hidden += g * nodes[node]
                d_nodes[node] += g * hidden
                loss -= np.log(score if not code else 1.0 - score)
            for word in context:
                d_inputs[word] += d_hidden / (1 if mean else len(context))
    return d_inputs, d_nodes, loss


def clipped(updates, max_norm):
    """Rows scaled down to at most `max_norm`."""
    norms = np.linalg.norm(updates, axis=1, keepdims=True)
    return updates * np.minimum(1.0, max_norm / np.maximum(norms, 1e-12))
