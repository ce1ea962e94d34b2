"""Reference of the compiled kernels: slow loops over rows, in float64.

Each method computes what a trainer in `gensim_tfw2v/kernel/native/src` computes, whose header has
the mathematics. Letters are those of `unit.h` there: o options, u unit, n positions, a position,
p first position of a block, c centre, K and C negatives, x inputs, y outputs or nodes, h hidden
layer, z scores, g coefficients; dx, dy and dh are updates.
"""

import contextlib
import itertools

import numpy as np

INPUTS, OUTPUTS, NODES = range(3)
#: Largest number of CBOW windows that are scored from the same rows: kMost in cbow_windows.h.
MAX_WINDOWS = 4
#: Positions that share K negatives and are scored from the same rows: kGroup in cbow_sums.h.
GROUP = 4
#: Negatives of a group that are read before any of them is updated: kChunk in cbow_negatives.h.
CHUNK = 5
#: Limit of abs(z), from which on g = 0: gensim's MAX_EXP.
TAUGHT = 6.0
#: Largest mean abs(z): above it, a block or group is trained window by window.
MAX_MEAN_SCORE = 8.0


def softplus(x):
    return np.logaddexp(0.0, x)


class Training:
    """A unit, and copies of the tables that it is trained on.

    Parameters
    ----------
    options, unit
        As in `by_ctypes`.
    tables : inputs, outputs and nodes, each [rows, D]
    lock : [rows] or None
        Factor of each input's updates.
    paths : list
        Per target, ``2 * node + code`` from the root.
    alphas : [2]
        Learning rates at the first position and after the last.
    subwords : list, optional
        Per word, the rows that compose its input. Empty if words have single rows.
    weights : [rows], optional
        Number of gensim's rows that are merged into each input.

    Attributes
    ----------
    loss, predictions : float
        Sums over the blocks with loss.
    travelled : list of [rows, D]
        Sum of abs(update) of each float of the tables: the scale of rounding errors.
    """

    def __init__(self, options, unit, tables, lock, paths, alphas, subwords=None, weights=None):
        self.o, self.u, self.paths, self.subwords = options, unit, paths, subwords
        self.pairs = unit.counts[0]
        self.weights = np.ones(len(tables[INPUTS])) if weights is None else weights
        self.tables = [np.array(table, float) for table in tables]
        self.travelled = [np.zeros_like(table) for table in self.tables]
        self.lock = np.ones(len(tables[INPUTS])) if lock is None else lock
        self.alphas = alphas
        self.group = options.group  # 1 once scores are out of range
        self.loss = self.predictions = 0.0

    def train(self, first, last, loss_every):
        """Train positions first to before last, like train() in kernel.cc."""
        o = self.o
        in_blocks = o.negative > 0 and not o.sequential
        passes = [self.skipgram_blocks, self.tag_pairs] * in_blocks
        passes += [self.skipgram_windows] * (o.hierarchical or not in_blocks)
        length = -(-o.span // o.block) * o.block if self.subwords else max(1, last - first)
        by_window = o.sequential or o.shards > 1 or o.documents
        cbow = self.cbow_windows if by_window else self.cbow_blocks
        if o.concatenated:
            cbow = self.cbow_concat
        for train in passes if o.skipgram else [cbow]:
            for begin in range(first, last, length):
                with self.composed_inputs() if self.subwords else contextlib.nullcontext():
                    train(begin, min(last, begin + length), loss_every)

    def has_loss(self, p, loss_every):
        return loss_every > 0 and p // self.o.block % loss_every == 0

    def skipgram_blocks(self, first, last, loss_every):
        for p in range(first, last, self.o.block):
            end = min(p + self.o.block, len(self.u.inputs) - self.pairs)
            self.skipgram_parts(range(p, end), self.has_loss(p, loss_every))

    def skipgram_parts(self, positions, with_loss):
        """Halve a block until no input occurs more than `repeats` times in a part."""
        if not positions:
            return
        _, occurrences = np.unique(self.u.inputs[positions], return_counts=True)
        if occurrences.max() <= self.o.repeats:
            self.skipgram_block(positions, with_loss)
        else:
            half = len(positions) // 2
            self.skipgram_parts(positions[:half], with_loss)
            self.skipgram_parts(positions[half:], with_loss)

    def tag_pairs(self, first, last, loss_every):
        """PV-DBOW (tag_pairs.h): groups of (tag, token) pairs, each scored from the same rows."""
        n, o = len(self.u.inputs), self.o
        for p in range(first, last, o.block):
            begin, end = max(p, n - self.pairs), min(p + o.block, n)
            for number, a in enumerate(range(begin, end, GROUP)):
                drawn = self.u.negatives[p // o.block]
                drawn = [drawn[(number * o.negative + k) % o.shared] for k in range(o.negative)]
                self.tag_pair_group(
                    range(a, min(a + GROUP, end)), drawn, self.has_loss(p, loss_every)
                )

    def tag_pair_group(self, positions, drawn, with_loss):
        h = {a: self.tables[INPUTS][self.u.inputs[a]].copy() for a in positions}
        pairs, is_single = self.pairs, len(positions) == 1
        done = (positions[0] - len(self.u.inputs) + pairs) / pairs
        alpha = self.alphas[0] + (self.alphas[1] - self.alphas[0]) * done
        dh = self.cbow_group(h, drawn, alpha, with_loss, False, is_single)
        if not dh:  # scores are out of range
            for a in positions:
                self.tag_pair_group([a], drawn, with_loss)
        for a, dx in dh.items():
            row = self.u.inputs[a]
            self.update([(INPUTS, row, self.lock[row] * dx)])

    def skipgram_windows(self, first, last, loss_every):
        """Skip-gram window by window (skipgram_windows.h).

        The window of each word is followed by the word's (tag, token) pairs, and the last window by
        all remaining pairs. In a unit without windows, the pairs are the positions.
        """
        windows, targets = len(self.u.inputs) - self.pairs, self.u.targets
        pair = windows
        for a in range(windows or last):
            p = a // self.o.block * self.o.block
            if a == p:
                groups = itertools.count()  # each group uses the next negatives of the block
            numbers, pairs = {a: groups}, range(pair, len(targets) if windows else pair)
            for pair in pairs:
                if targets[pair] != targets[a] and a < windows - 1:
                    break
                numbers[pair] = itertools.count(pair % self.o.block)
            else:
                pair = pairs.stop
            for position in numbers if first <= a < last else []:
                self.skipgram_window(position, numbers[position], self.has_loss(p, loss_every))

    def cbow_windows(self, first, last, loss_every):
        """CBOW window by window (cbow_windows.h), in groups within each block."""
        for p in range(first, last, self.o.block):
            block = range(p, min(p + self.o.block, last))
            empty = [a for a in block if not len(self.window_rows(a))]
            windows = [a for a in block if a not in empty]
            while windows:
                group = min(self.group, MAX_WINDOWS)
                self.cbow_window_group(windows[:group], self.has_loss(p, loss_every))
                windows = windows[group:]

    def cbow_blocks(self, first, last, loss_every):
        for p in range(first, last, self.o.block):
            self.cbow_block(range(p, min(p + self.o.block, last)), self.has_loss(p, loss_every))

    @contextlib.contextmanager
    def composed_inputs(self):
        """Train on the composed inputs of words, then add each word's update to all its rows.

        As in gensim, each row gets the whole gradient, not divided by the number of rows. See
        subwords.h, whose f, s and q are `weights`, `factors` and `divisors`.
        """
        rows, travelled = self.tables[INPUTS], self.travelled[INPUTS]
        lock, weights = self.lock, self.weights
        factors = lock * weights
        counts = [weights[own].sum() for own in self.subwords]
        divisors = [count - 1 if self.o.skipgram and count > 1 else 1 for count in counts]
        of_words = list(zip(self.subwords, divisors, strict=True))
        before = np.array([rows[own].sum(0) / divisor for own, divisor in of_words])
        self.lock = np.array([factors[own].sum() / divisor for own, divisor in of_words])
        self.tables[INPUTS], self.travelled[INPUTS] = before.copy(), np.zeros_like(before)
        self.weights = np.array(counts)
        yield
        for word, own in enumerate(self.subwords):
            if self.lock[word]:
                dx = (self.tables[INPUTS][word] - before[word]) / self.lock[word]
                np.add.at(rows, own, factors[own, None] * dx)
                way = self.travelled[INPUTS][word] / self.lock[word]
                np.add.at(travelled, own, factors[own, None] * way)
        self.tables[INPUTS], self.travelled[INPUTS] = rows, travelled
        self.lock, self.weights = lock, weights

    def alpha(self, a):
        """Return the learning rate at the block of a position, or at a pair: see trainer.h."""
        first, last = self.alphas
        p = a // self.o.block * self.o.block
        windows = len(self.u.inputs) - self.pairs
        if a >= windows:
            return first + (last - first) * (a - windows) / self.pairs
        return first + (last - first) * p / windows

    def window(self, c):
        """Return the positions in the window of a centre; of a (tag, token) pair, its own."""
        if c >= len(self.u.inputs) - self.pairs:
            return [c]
        before, after = self.u.reaches[c]
        return [a for a in range(c - before, c + after + 1) if a != c]

    def tags(self, a):
        """Return the inputs of the tags of a position's document."""
        if not len(self.u.documents):
            return []
        document, first = self.u.documents[a], self.u.first_tags
        return self.u.tags[first[document] : first[document + 1]]

    def window_rows(self, c):
        """Return the inputs of words and tags in the window of a centre of CBOW."""
        words = self.u.inputs[self.window(c)]
        return np.append(words, self.tags(c)).astype(int)

    def negatives(self, block, target):
        """Return the negatives of a block that are of the target's shard."""
        return self.u.negatives[block][target % self.o.shards :: self.o.shards]

    def errors(self, labels, z, limit=TAUGHT):
        """Return g / alpha: label - sigmoid(z), or 0 where abs(z) >= limit."""
        return np.where(np.abs(z) < limit, labels - 1.0 / (1.0 + np.exp(-z)), 0.0)

    def update(self, updates):
        """Apply updates: tuples of a table, its row or rows, and the floats to add."""
        for table, rows, added in updates:
            if table != INPUTS and not self.o.learn_hidden:
                continue
            np.add.at(self.tables[table], rows, added)
            np.add.at(self.travelled[table], rows, np.abs(added))

    @property
    def in_turn(self):
        """True if a repeated output is scored again after its first update."""
        return self.group == 1 and bool(self.o.skip_targets)

    def train_in_turn(self, h, predicted, alpha, with_loss):
        """Train the rows that a hidden layer predicts, one by one. Return dh. See windows.h."""
        dh, width, size = np.zeros_like(h), max(1, self.o.concatenated), len(h)
        limit = (8 if self.o.skipgram else 80) if self.subwords else TAUGHT
        limit = min(limit, 8) if self.o.hierarchical else limit
        for table, rows, labels in predicted:
            for row, label in zip(rows, labels, strict=True):
                y = self.tables[table].reshape(-1, size)[row]
                z = y @ h
                self.loss += with_loss * softplus(-z if label else z)
                g = alpha * self.errors(label, z, limit)
                dh += g * y
                own = row * width + np.arange(width)
                self.update([(table, own, g * h.reshape(width, -1))])
        return dh

    def predict(self, h, table, rows, labels, weights, alpha, with_loss, moved=0.0):
        """Return dh [D] and dy [rows, D] of a hidden layer that predicts rows of a table.

        Scores are computed from the table. `moved`, the updates by previous words of a group, is
        added to its rows for dh only.
        """
        z = self.tables[table][rows] @ h
        g = alpha * weights * self.errors(labels, z)
        if with_loss:
            self.loss += weights @ softplus(np.where(labels, -z, z))
        return g @ (self.tables[table][rows] + moved), np.outer(g, h)

    def skipgram_block(self, positions, with_loss):
        """Skip-gram with negative sampling, from the rows at the start: skipgram_blocks.h.

        Here each pair predicts the negatives itself, with weight K / (number of negatives).
        """
        o, u = self.o, self.u
        p, updates = positions.start, []
        alpha = self.alpha(p)
        for i in positions:
            for c in range(len(u.inputs)):
                if i not in self.window(c):
                    continue
                row, target = u.inputs[i], u.targets[c]
                own = self.negatives(p // o.block, target)
                weight = o.negative / len(own)
                if o.skip_targets:
                    own = own[own != target]
                rows = np.append(own, target)
                labels = np.append(np.zeros(len(own)), 1.0)
                weights = np.append(np.full(len(own), weight), 1.0)
                x = self.tables[INPUTS][row]
                dx, dy = self.predict(x, OUTPUTS, rows, labels, weights, alpha, with_loss)
                updates += [(INPUTS, row, self.lock[row] * dx), (OUTPUTS, rows, dy)]
                self.predictions += with_loss
        self.update(updates)

    def predicted(self, a, number, block=None):
        """Yield the (table, rows, labels) that a position predicts: its path; negatives and target.

        It uses K negatives of its block, or of `block`, from index ``number * K`` on.
        """
        o, target = self.o, self.u.targets[a]
        if o.hierarchical:
            path = self.paths[target]
            yield NODES, path // 2, 1.0 - path % 2
        if o.negative and (o.sequential or not o.skipgram):
            own = self.negatives(a // o.block if block is None else block, target)
            indices = number * o.negative + np.arange(o.negative)
            negatives = own[indices % len(own)]
            if o.skip_targets:
                negatives = negatives[negatives != target]
            rows = np.append(negatives, target)
            yield OUTPUTS, rows, np.append(np.zeros(len(negatives)), 1.0)

    def skipgram_window(self, a, groups, with_loss):
        """Train a window of skip-gram, group by group of its words: skipgram_windows.h.

        Within a group, scores are those of the rows at its start, but dx is computed from outputs
        that previous words have updated.
        """
        window, inputs = self.window(a), self.u.inputs
        by_input = bool(self.subwords) and self.o.span == self.o.group == 1
        if by_input or self.in_turn:  # pair by pair; with `by_input`, a's input predicts the window
            for j in window:
                i, c = (a, j) if by_input else (j, a)
                predicted = self.predicted(c, next(groups), a // self.o.block)
                if self.in_turn:
                    x = self.tables[INPUTS][inputs[i]].copy()
                    dx = self.train_in_turn(x, predicted, self.alpha(a), with_loss)
                    self.update([(INPUTS, inputs[i], self.lock[inputs[i]] * dx)])
                    continue
                for table, rows, labels in predicted:
                    x = self.tables[INPUTS][inputs[i]].copy()
                    dx, dy = self.predict(
                        *(x, table, rows, labels, np.ones(len(rows))),
                        *(self.alpha(a), with_loss),
                    )
                    self.update(
                        [
                            (table, rows, dy),
                            (INPUTS, inputs[i], self.lock[inputs[i]] * dx),
                        ]
                    )
            self.predictions += with_loss * len(window)
            return
        words = inputs[window]
        first = 0
        while first < len(words):
            if self.in_turn:
                x, word = self.tables[INPUTS][words[first]].copy(), words[first]
                predicted = self.predicted(a, next(groups))
                dx = self.train_in_turn(x, predicted, self.alpha(a), with_loss)
                self.update([(INPUTS, word, self.lock[word] * dx)])
                first += 1
                continue
            updates, number, group = [], next(groups), self.group
            predicted = [[*layer, 0.0] for layer in self.predicted(a, number)]
            sizes = [
                np.abs(
                    self.tables[table][rows] @ self.tables[INPUTS][words[first : first + group]].T
                )
                for table, rows, *_ in predicted
            ]
            if predicted and np.concatenate(sizes).mean() > MAX_MEAN_SCORE:
                self.group = 1
            for word in words[first : first + group]:
                for layer in predicted:
                    table, rows, labels, moved = layer
                    dx, dy = self.predict(
                        self.tables[INPUTS][word],
                        *(table, rows, labels, np.ones(len(rows)), self.alpha(a)),
                        *(with_loss, moved),
                    )
                    layer[3] = (
                        moved + dy * self.o.learn_hidden
                    )  # per index in `rows`: updates of a repeated row are not added up
                    updates += [(table, rows, dy), (INPUTS, word, self.lock[word] * dx)]
            self.update(updates)
            first += group
        self.predictions += with_loss * len(words)

    def cbow_block(self, block, with_loss):
        """Train a block of CBOW: cbow_blocks.h.

        Hidden layers are those of the rows at its start. Outputs are updated group by group, and
        inputs at the end.
        """
        o, u = self.o, self.u
        words = {a: self.window_rows(a) for a in block if len(self.window_rows(a))}
        counts = {a: self.weights[words[a]].sum() for a in words}
        h = {a: self.tables[INPUTS][words[a]].sum(0) / (counts[a] if o.mean else 1) for a in words}
        dh, retry, groups = {}, [], -(-len(block) // GROUP)
        for number in range(groups):
            group = {a: h[a] for a in block[number::groups] if a in words}
            drawn = u.negatives[block[0] // o.block] if o.negative else []
            drawn = [drawn[(number * o.negative + k) % o.shared] for k in range(o.negative)]
            updated = self.cbow_group(group, drawn, self.alpha(block[0]), with_loss, o.hierarchical)
            dh |= updated
            retry += [a for a in group if a not in updated]
        scales = {a: 1.0 / counts[a] if o.mean == o.corrected else 1.0 for a in words}
        self.update(
            (INPUTS, words[a], scales[a] * self.lock[words[a], None] * dx) for a, dx in dh.items()
        )
        for a in retry:
            self.cbow_window_group([a], with_loss, is_retried=True)

    def cbow_group(self, h, drawn, alpha, with_loss, hierarchical, in_any_range=False):
        """Train the outputs and nodes of a group of positions: cbow_negatives.h, cbow_paths.h.

        Return dh of each position. If scores are out of range, return {} and update nothing.
        """
        o, u = self.o, self.u
        losses, sizes, found = [], {}, []

        def predict(a, table, row, label, chunk=None):
            z = self.tables[table][row] @ h[a]
            losses.append(softplus(-z if label else z))
            sizes[a, table, row, label, chunk] = abs(z)
            found.append((a, table, row, alpha * self.errors(label, z), chunk))

        for a in h if hierarchical else []:
            for row in self.paths[u.targets[a]]:
                predict(a, NODES, row // 2, 1.0 - row % 2)
        for first in range(0, len(drawn), CHUNK):
            for row, a in itertools.product(drawn[first : first + CHUNK], h):
                if not o.skip_targets or row != u.targets[a]:
                    predict(a, OUTPUTS, row, 0.0, chunk=first)
        for a in h if o.negative else []:
            predict(a, OUTPUTS, u.targets[a], 1.0)
        number = len(h) * (o.negative + 1 if o.negative else 0)
        number += sum(len(self.paths[u.targets[a]]) for a in h) * hierarchical
        if sum(sizes.values()) > MAX_MEAN_SCORE * number and not in_any_range:
            return {}
        dh = {a: np.zeros_like(h[a]) for a in h}
        current = None  # chunk of negatives whose rows before its updates are `before`
        for a, table, row, g, chunk in found:
            if chunk is not None and chunk != current:
                current, before = chunk, self.tables[OUTPUTS].copy()
            dh[a] += g * (self.tables[table] if chunk is None else before)[row]
            self.update([(table, row, g * h[a])])
        self.loss += with_loss * sum(losses)
        self.predictions += with_loss * len(h)
        return dh

    def cbow_window_group(self, positions, with_loss, is_retried=False):
        """Compute the scores of some windows of CBOW, then update them one by one."""
        o, found, sizes = self.o, [], []
        for a in positions:
            words = self.window_rows(a)
            count = self.weights[words].sum()
            h = self.tables[INPUTS][words].sum(0) / (count if o.mean else 1)
            # gensim divides the gradient of a sum, and leaves that of a mean undivided
            scale = 1.0 / count if o.mean == o.corrected else 1.0
            predicted = self.predicted(a, a % o.block)
            if self.in_turn or is_retried and o.skip_targets:
                dh = self.train_in_turn(h, predicted, self.alpha(a), with_loss)
                self.update([(INPUTS, words, scale * self.lock[words, None] * dh)])
                predicted = ()
            for table, rows, labels in predicted:
                z = self.tables[table][rows] @ h
                g = self.alpha(a) * self.errors(labels, z)
                sizes += np.abs(z).tolist()
                if with_loss:
                    self.loss += softplus(np.where(labels, -z, z)).sum()
                found.append((words, scale, h, table, rows, g))
            self.predictions += with_loss
        if sizes and np.mean(sizes) > MAX_MEAN_SCORE:
            self.group = 1
        for words, scale, h, table, rows, g in found:
            dh = np.zeros_like(h)
            for row, coefficient in zip(rows, g, strict=True):
                dh += coefficient * self.tables[table][row]
                self.update([(table, row, coefficient * h)])
            self.update([(INPUTS, words, scale * self.lock[words, None] * dh)])

    def cbow_concat(self, first, last, loss_every):
        """CBOW whose hidden layer is a concatenation of inputs: cbow_concat.h.

        An output or a node is `concatenated` rows of its table.
        """
        o, inputs = self.o, self.u.inputs
        for a in range(first, last):
            rows, window = list(self.tags(a)), self.window(a)
            for j in range(a - o.window, a + o.window + 1):
                if j != a:
                    rows.append(inputs[j] if j in window else o.padding)
            if len(rows) != o.concatenated:
                continue
            h, size = self.tables[INPUTS][rows].ravel(), self.tables[INPUTS].shape[1]
            with_loss, found = self.has_loss(a // o.block * o.block, loss_every), []
            predicted = list(self.predicted(a, a % o.block))
            if self.in_turn:
                dh = self.train_in_turn(h, predicted, self.alpha(a), with_loss)
                self.update([(INPUTS, rows, self.lock[rows, None] * dh.reshape(-1, size))])
                predicted = []
            for table, outputs, labels in predicted:
                z = self.tables[table].reshape(-1, len(h))[outputs] @ h
                if with_loss:
                    self.loss += softplus(np.where(labels, -z, z)).sum()
                g = self.alpha(a) * self.errors(labels, z)
                found += [(table, row, factor) for row, factor in zip(outputs, g, strict=True)]
            if not predicted:
                self.predictions += with_loss
                continue
            dh = np.zeros_like(h)
            for table, row, factor in found:
                dh += factor * self.tables[table].reshape(-1, len(h))[row]
                own = row * o.concatenated + np.arange(o.concatenated)
                self.update([(table, own, factor * h.reshape(-1, size))])
            self.update([(INPUTS, rows, self.lock[rows, None] * dh.reshape(-1, size))])
            self.predictions += with_loss
