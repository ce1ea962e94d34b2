"""What the compiled kernels compute, as slow loops that anyone can read, in float64."""

import contextlib
import itertools

import numpy as np

INPUTS, OUTPUTS, NODES = range(3)
MAX_GROUPED = 4  # windows of CBOW
SHARING, AT_A_TIME = 4, 5  # positions of a block of CBOW that share negatives; negatives
TAUGHT = 6.0  # below which scores teach
MAX_MEAN_SCORE = 8.0  # mean size of the scores of a block that is trained window by window


def softplus(x):
    return np.logaddexp(0.0, x)


class Training:
    """A unit and the rows that it is trained on, which change.

    tables: inputs, outputs, nodes [rows, D]; lock [rows]; paths: for each row of outputs its
    2 node + code; subwords: for each word its rows, or None where it is its row; weights [rows]:
    of how many rows each is the sum. Sums `loss` and `predictions`; `travelled` [rows, D] are sums
    of the sizes of changes.
    """

    def __init__(self, options, unit, tables, lock, paths, alphas, subwords=None, weights=None):
        self.o, self.unit, self.paths, self.subwords = options, unit, paths, subwords
        self.pairs = unit.counts[0]
        self.weights = np.ones(len(tables[INPUTS])) if weights is None else weights
        self.tables = [np.array(table, float) for table in tables]
        self.travelled = [np.zeros_like(table) for table in self.tables]
        self.lock = np.ones(len(tables[INPUTS])) if lock is None else lock
        self.alphas = alphas
        self.group = options.group  # 1 once scores are out of range
        self.loss = self.predictions = 0.0

    def train(self, first, last, loss_every):
        o = self.o
        in_blocks = o.negative > 0 and not o.sequential
        passes = [self.sampled, self.tag_pairs] * in_blocks
        passes += [self.windows] * (o.hierarchical or not in_blocks)
        length = -(-o.span // o.block) * o.block if self.subwords else max(1, last - first)
        by_window = o.sequential or o.shards > 1 or o.documents
        cbow = self.cbow if by_window else self.cbow_blocks
        if o.concatenated:
            cbow = self.concatenated
        for train in passes if o.skipgram else [cbow]:
            for begin in range(first, last, length):
                with self.made_of_subwords() if self.subwords else contextlib.nullcontext():
                    train(begin, min(last, begin + length), loss_every)

    def has_loss(self, begin, loss_every):
        return loss_every > 0 and begin // self.o.block % loss_every == 0

    def sampled(self, first, last, loss_every):
        for begin in range(first, last, self.o.block):
            self.sampled_block(begin, self.has_loss(begin, loss_every))

    def tag_pairs(self, first, last, loss_every):
        """Pairs of tags and words, a few at a time from the same rows."""
        number, o = len(self.unit.inputs), self.o
        for block in range(first, last, o.block):
            begin, end = max(block, number - self.pairs), min(block + o.block, number)
            for place, few in enumerate(range(begin, end, SHARING)):
                drawn = self.unit.negatives[block // o.block]
                drawn = [drawn[(place * o.negative + k) % o.shared] for k in range(o.negative)]
                self.some_pairs(
                    range(few, min(few + SHARING, end)), drawn, self.has_loss(block, loss_every)
                )

    def some_pairs(self, positions, drawn, with_loss):
        hidden = {a: self.tables[INPUTS][self.unit.inputs[a]].copy() for a in positions}
        pairs, alone = self.pairs, len(positions) == 1
        done = (positions[0] - len(self.unit.inputs) + pairs) / pairs
        alpha = self.alphas[0] + (self.alphas[1] - self.alphas[0]) * done
        deltas = self.cbow_group(hidden, drawn, alpha, with_loss, False, alone)
        if not deltas:  # they are out of range
            for a in positions:
                self.some_pairs([a], drawn, with_loss)
        for a, delta in deltas.items():
            row = self.unit.inputs[a]
            self.change([(INPUTS, row, self.lock[row] * delta)])

    def windows(self, first, last, loss_every):
        """Windows, after each the pairs of its word if there are both, the others at the end."""
        number, targets = len(self.unit.inputs) - self.pairs, self.unit.targets
        pair = number
        for position in range(number or last):
            begin = position // self.o.block * self.o.block
            if position == begin:
                groups = itertools.count()  # each takes other negatives of the block
            places, pairs = {position: groups}, range(pair, len(targets) if number else pair)
            for pair in pairs:
                if targets[pair] != targets[position] and position < number - 1:
                    break
                places[pair] = itertools.count(pair % self.o.block)
            else:
                pair = pairs.stop
            for place in places if first <= position < last else []:
                self.window(place, places[place], self.has_loss(begin, loss_every))

    def cbow(self, first, last, loss_every):
        for begin in range(first, last, self.o.block):
            block = range(begin, min(begin + self.o.block, last))
            alone = [position for position in block if not len(self.window_rows(position))]
            windows = [position for position in block if position not in alone]
            while windows:
                group = min(self.group, MAX_GROUPED)
                self.cbow_windows(windows[:group], self.has_loss(begin, loss_every))
                windows = windows[group:]

    def cbow_blocks(self, first, last, loss_every):
        for begin in range(first, last, self.o.block):
            self.cbow_block(
                range(begin, min(begin + self.o.block, last)), self.has_loss(begin, loss_every)
            )

    @contextlib.contextmanager
    def made_of_subwords(self):
        """Train on words' inputs, and then add each one's update to all its rows.

        The gradient of a row is not divided by the number of rows, as in gensim.
        """
        rows, travelled = self.tables[INPUTS], self.travelled[INPUTS]
        before, weights = self.lock, self.weights
        lock = before * weights
        counts = [weights[own].sum() for own in self.subwords]
        divisors = [count - 1 if self.o.skipgram and count > 1 else 1 for count in counts]
        of_words = list(zip(self.subwords, divisors, strict=True))
        made = np.array([rows[own].sum(0) / divisor for own, divisor in of_words])
        self.lock = np.array([lock[own].sum() / divisor for own, divisor in of_words])
        self.tables[INPUTS], self.travelled[INPUTS] = made.copy(), np.zeros_like(made)
        self.weights = np.array(counts)
        yield
        for word, own in enumerate(self.subwords):
            if self.lock[word]:
                delta = (self.tables[INPUTS][word] - made[word]) / self.lock[word]
                np.add.at(rows, own, lock[own, None] * delta)
                way = self.travelled[INPUTS][word] / self.lock[word]
                np.add.at(travelled, own, lock[own, None] * way)
        self.tables[INPUTS], self.travelled[INPUTS] = rows, travelled
        self.lock, self.weights = before, weights

    def alpha(self, position):
        first, last = self.alphas
        block = position // self.o.block * self.o.block
        windows = len(self.unit.inputs) - self.pairs
        if position >= windows:
            return first + (last - first) * (position - windows) / self.pairs
        return first + (last - first) * block / windows

    def reached(self, position):
        """Positions in the window of one; of a pair, its own."""
        if position >= len(self.unit.inputs) - self.pairs:
            return [position]
        before, after = self.unit.reaches[position]
        return [j for j in range(position - before, position + after + 1) if j != position]

    def tags(self, position):
        """Rows that are in all windows of its document."""
        if not len(self.unit.documents):
            return []
        document, first = self.unit.documents[position], self.unit.first_tags
        return self.unit.tags[first[document] : first[document + 1]]

    def window_rows(self, position):
        """Rows of the window of a position of CBOW: of words, and of tags."""
        words = self.unit.inputs[self.reached(position)]
        return np.append(words, self.tags(position)).astype(int)

    def negatives(self, block, target):
        """Those of a block that are of a target's shard."""
        return self.unit.negatives[block][target % self.o.shards :: self.o.shards]

    def errors(self, labels, scores, limit=TAUGHT):
        """How far predictions are off; nothing is learnt from large scores, as in gensim."""
        return np.where(np.abs(scores) < limit, labels - 1.0 / (1.0 + np.exp(-scores)), 0.0)

    def change(self, changes):
        """Make all of these: (table, rows, what is added to them)."""
        for table, rows, added in changes:
            np.add.at(self.tables[table], rows, added)
            np.add.at(self.travelled[table], rows, np.abs(added))

    @property
    def in_turn(self):
        """True if a row that a hidden layer meets again is scored again."""
        return self.group == 1 and bool(self.o.skip_targets)

    def predict_in_turn(self, hidden, layers, alpha, with_loss):
        """Train what a hidden layer predicts, row after row: return the layer's update."""
        delta, width, size = np.zeros_like(hidden), max(1, self.o.concatenated), len(hidden)
        limit = (8 if self.o.skipgram else 80) if self.subwords else TAUGHT
        limit = min(limit, 8) if self.o.hierarchical else limit
        for table, rows, labels in layers:
            for row, label in zip(rows, labels, strict=True):
                output = self.tables[table].reshape(-1, size)[row]
                score = output @ hidden
                self.loss += with_loss * softplus(-score if label else score)
                g = alpha * self.errors(label, score, limit)
                delta += g * output
                own = row * width + np.arange(width)
                self.change([(table, own, g * hidden.reshape(width, -1))])
        return delta

    def predict(self, hidden, table, rows, labels, weights, alpha, with_loss, moved=0.0):
        """Updates of a row that predicts others, and of these: [D], [rows, D].

        moved: what has been added to those others since their scores were computed.
        """
        scores = self.tables[table][rows] @ hidden
        g = alpha * weights * self.errors(labels, scores)
        if with_loss:
            self.loss += weights @ softplus(np.where(labels, -scores, scores))
        return g @ (self.tables[table][rows] + moved), np.outer(g, hidden)

    def sampled_block(self, begin, with_loss):
        """Skip-gram with negative sampling: all from the rows at the block's beginning."""
        o, unit = self.o, self.unit
        alpha, changes = self.alpha(begin), []
        for i in range(begin, min(begin + o.block, len(unit.inputs) - self.pairs)):
            for centre in range(len(unit.inputs)):
                if i not in self.reached(centre):
                    continue
                x, target = unit.inputs[i], unit.targets[centre]
                own = self.negatives(begin // o.block, target)
                share = o.negative / len(own)
                if o.skip_targets:
                    own = own[own != target]
                rows = np.append(own, target)
                labels = np.append(np.zeros(len(own)), 1.0)
                weights = np.append(np.full(len(own), share), 1.0)
                hidden = self.tables[INPUTS][x]
                d_x, d_rows = self.predict(hidden, OUTPUTS, rows, labels, weights, alpha, with_loss)
                changes += [(INPUTS, x, self.lock[x] * d_x), (OUTPUTS, rows, d_rows)]
                self.predictions += with_loss
        self.change(changes)

    def layers(self, position, place, block=None):
        """What a window predicts, with the block's negatives at a place: (table, rows, labels)."""
        o, target = self.o, self.unit.targets[position]
        if o.hierarchical:
            path = self.paths[target]
            yield NODES, path // 2, 1.0 - path % 2
        if o.negative and (o.sequential or not o.skipgram):
            own = self.negatives(position // o.block if block is None else block, target)
            places = place * o.negative + np.arange(o.negative)
            negatives = own[places % len(own)]
            if o.skip_targets:
                negatives = negatives[negatives != target]
            rows = np.append(negatives, target)
            yield OUTPUTS, rows, np.append(np.zeros(len(negatives)), 1.0)

    def window(self, position, groups, with_loss):
        """A window of skip-gram, by groups of its words: rows change after each group.

        A word meets outputs that the words before it have moved, as in gensim; its scores are those
        of the outputs at the group's beginning.
        """
        reached, inputs = self.reached(position), self.unit.inputs
        by_input = bool(self.subwords) and self.o.span == self.o.group == 1
        if by_input or self.in_turn:  # pair by pair, of FastText those of the position's input
            for other in reached:
                one, target = (position, other) if by_input else (other, position)
                layers = self.layers(target, next(groups), position // self.o.block)
                if self.in_turn:
                    hidden = self.tables[INPUTS][inputs[one]].copy()
                    delta = self.predict_in_turn(hidden, layers, self.alpha(position), with_loss)
                    self.change([(INPUTS, inputs[one], self.lock[inputs[one]] * delta)])
                    continue
                for table, rows, labels in layers:
                    hidden = self.tables[INPUTS][inputs[one]].copy()
                    delta, of_rows = self.predict(
                        *(hidden, table, rows, labels, np.ones(len(rows))),
                        *(self.alpha(position), with_loss),
                    )
                    self.change(
                        [
                            (table, rows, of_rows),
                            (INPUTS, inputs[one], self.lock[inputs[one]] * delta),
                        ]
                    )
            self.predictions += with_loss * len(reached)
            return
        words = inputs[reached]
        first = 0
        while first < len(words):
            if self.in_turn:
                hidden, word = self.tables[INPUTS][words[first]].copy(), words[first]
                layers = self.layers(position, next(groups))
                delta = self.predict_in_turn(hidden, layers, self.alpha(position), with_loss)
                self.change([(INPUTS, word, self.lock[word] * delta)])
                first += 1
                continue
            changes, place, group = [], next(groups), self.group
            layers = [[*layer, 0.0] for layer in self.layers(position, place)]
            sizes = [
                np.abs(
                    self.tables[table][rows] @ self.tables[INPUTS][words[first : first + group]].T
                )
                for table, rows, *_ in layers
            ]
            if layers and np.concatenate(sizes).mean() > MAX_MEAN_SCORE:
                self.group = 1
            for word in words[first : first + group]:
                for layer in layers:
                    table, rows, labels, moved = layer
                    d_x, d_rows = self.predict(
                        self.tables[INPUTS][word],
                        *(table, rows, labels, np.ones(len(rows)), self.alpha(position)),
                        *(with_loss, moved),
                    )
                    layer[3] = moved + d_rows  # each place moves: twice, a row that is there twice
                    changes += [(table, rows, d_rows), (INPUTS, word, self.lock[word] * d_x)]
            self.change(changes)
            first += group
        self.predictions += with_loss * len(words)

    def cbow_block(self, block, with_loss):
        """A block of CBOW: inputs are as at its beginning, outputs change group after group."""
        o, unit = self.o, self.unit
        words = {a: self.window_rows(a) for a in block if len(self.window_rows(a))}
        numbers = {a: self.weights[words[a]].sum() for a in words}
        hidden = {
            a: self.tables[INPUTS][words[a]].sum(0) / (numbers[a] if o.mean else 1) for a in words
        }
        deltas, retry, groups = {}, [], -(-len(block) // SHARING)
        for number in range(groups):
            group = {a: hidden[a] for a in block[number::groups] if a in words}
            drawn = unit.negatives[block[0] // o.block] if o.negative else []
            drawn = [drawn[(number * o.negative + k) % o.shared] for k in range(o.negative)]
            updated = self.cbow_group(group, drawn, self.alpha(block[0]), with_loss, o.hierarchical)
            deltas |= updated
            retry += [a for a in group if a not in updated]
        shares = {a: 1.0 / numbers[a] if o.mean == o.corrected else 1.0 for a in words}
        self.change(
            (INPUTS, words[a], shares[a] * self.lock[words[a], None] * delta)
            for a, delta in deltas.items()
        )
        for a in retry:
            self.cbow_windows([a], with_loss, alone=True)

    def cbow_group(self, hidden, drawn, alpha, with_loss, hierarchical, in_any_range=False):
        """Train outputs: each layer's update, or nothing if scores are out of range."""
        o, unit = self.o, self.unit
        losses, sizes, changes = [], {}, []

        def predict(a, table, row, label, before=None):
            score = self.tables[table][row] @ hidden[a]
            losses.append(softplus(-score if label else score))
            sizes[a, table, row, label, before] = abs(score)
            changes.append((a, table, row, alpha * self.errors(label, score), before))

        for a in hidden if hierarchical else []:
            for row in self.paths[unit.targets[a]]:
                predict(a, NODES, row // 2, 1.0 - row % 2)
        for first in range(0, len(drawn), AT_A_TIME):
            for row, a in itertools.product(drawn[first : first + AT_A_TIME], hidden):
                if not o.skip_targets or row != unit.targets[a]:
                    predict(a, OUTPUTS, row, 0.0, before=first)
        for a in hidden if o.negative else []:
            predict(a, OUTPUTS, unit.targets[a], 1.0)
        number = len(hidden) * (o.negative + 1 if o.negative else 0)
        number += sum(len(self.paths[unit.targets[a]]) for a in hidden) * hierarchical
        if sum(sizes.values()) > MAX_MEAN_SCORE * number and not in_any_range:
            return {}
        deltas = {a: np.zeros_like(hidden[a]) for a in hidden}
        held = None  # negatives as they were before the first of those that registers hold together
        for a, table, row, g, before in changes:
            if before is not None and before != held:
                held, rows = before, self.tables[OUTPUTS].copy()
            deltas[a] += g * (self.tables[table] if before is None else rows)[row]
            self.change([(table, row, g * hidden[a])])
        self.loss += with_loss * sum(losses)
        self.predictions += with_loss * len(hidden)
        return deltas

    def cbow_windows(self, positions, with_loss, alone=False):
        """Some windows: their scores are computed, then one trains after the other."""
        o, predicted, sizes = self.o, [], []
        for position in positions:
            words = self.window_rows(position)
            number = self.weights[words].sum()
            hidden = self.tables[INPUTS][words].sum(0) / (number if o.mean else 1)
            # gensim divides the gradient of a sum, and leaves that of a mean undivided
            share = 1.0 / number if o.mean == o.corrected else 1.0
            layers = self.layers(position, position % o.block)
            if self.in_turn or alone and o.skip_targets:
                delta = self.predict_in_turn(hidden, layers, self.alpha(position), with_loss)
                self.change([(INPUTS, words, share * self.lock[words, None] * delta)])
                layers = ()
            for table, rows, labels in layers:
                scores = self.tables[table][rows] @ hidden
                g = self.alpha(position) * self.errors(labels, scores)
                sizes += np.abs(scores).tolist()
                if with_loss:
                    self.loss += softplus(np.where(labels, -scores, scores)).sum()
                predicted.append((words, share, hidden, table, rows, g))
            self.predictions += with_loss
        if sizes and np.mean(sizes) > MAX_MEAN_SCORE:
            self.group = 1
        for words, share, hidden, table, rows, g in predicted:
            d_hidden = np.zeros_like(hidden)
            for row, coefficient in zip(rows, g, strict=True):
                d_hidden += coefficient * self.tables[table][row]
                self.change([(table, row, coefficient * hidden)])
            self.change([(INPUTS, words, share * self.lock[words, None] * d_hidden)])

    def concatenated(self, first, last, loss_every):
        """CBOW whose hidden layer is rows one after the other; outputs are as long as these."""
        o, inputs = self.o, self.unit.inputs
        for position in range(first, last):
            rows, reached = list(self.tags(position)), self.reached(position)
            for place in range(position - o.window, position + o.window + 1):
                if place != position:
                    rows.append(inputs[place] if place in reached else o.padding)
            if len(rows) != o.concatenated:
                continue
            hidden, size = self.tables[INPUTS][rows].ravel(), self.tables[INPUTS].shape[1]
            with_loss, predicted = self.has_loss(position // o.block * o.block, loss_every), []
            layers = list(self.layers(position, position % o.block))
            if self.in_turn:
                delta = self.predict_in_turn(hidden, layers, self.alpha(position), with_loss)
                self.change([(INPUTS, rows, self.lock[rows, None] * delta.reshape(-1, size))])
                layers = []
            for table, outputs, labels in layers:
                scores = self.tables[table].reshape(-1, len(hidden))[outputs] @ hidden
                if with_loss:
                    self.loss += softplus(np.where(labels, -scores, scores)).sum()
                g = self.alpha(position) * self.errors(labels, scores)
                predicted += [(table, row, factor) for row, factor in zip(outputs, g, strict=True)]
            if not layers:
                self.predictions += with_loss
                continue
            delta = np.zeros_like(hidden)
            for table, row, factor in predicted:
                delta += factor * self.tables[table].reshape(-1, len(hidden))[row]
                own = row * o.concatenated + np.arange(o.concatenated)
                self.change([(table, own, factor * hidden.reshape(-1, size))])
            self.change([(INPUTS, rows, self.lock[rows, None] * delta.reshape(-1, size))])
            self.predictions += with_loss
