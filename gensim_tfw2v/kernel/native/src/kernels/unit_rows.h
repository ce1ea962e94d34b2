// Rows of the tables by position of a unit: inputs, outputs, nodes, negatives, windows and tags.
#pragma once

#include <algorithm>

#include "kernels/hot_nodes.h"
#include "kernels/vector.h"
#include "unit.h"

namespace tfw2v::TFW2V_ISA {

// The negatives of a block that a position uses: those in the same shard of the vocabulary as its target. They are
// every `step`-th negative of the block, from `first` on. With one shard, they are all negatives of the block.
struct Noise {
  const int32_t* negatives;
  int first, step, n_negatives;
  int column(int j) const { return first + j * step; }  // index in the block
  int32_t operator[](int j) const { return negatives[column(j)]; }
};

// Base class of all trainers and their parts. Letters are those of unit.h. Invariant: floats [D, stride) of each
// row are 0. So kernels compute on n_vectors whole vectors: the padding adds 0 to scores, and its updates are 0.
class UnitRows {
 public:
  UnitRows(const Tfw2vOptions& options, const Tfw2vUnit& unit, const Tfw2vTables& tables, HotNodes* hot = nullptr)
      : n(unit.targets.size), n_tag_pairs(unit.counts.size ? unit.counts[0] : 0), o(options), u(unit), t(tables),
        n_vectors(static_cast<int>((t.size + W - 1) / W)), stride(t.stride),
        output_stride(stride * std::max(1, o.concatenated)), hot_nodes(hot) {}

  const int64_t n, n_tag_pairs;  // positions; (tag, token) pairs, which are the last positions

 protected:
  float* input(int64_t row) const { return t.inputs.rows + row * t.stride; }
  float* output(int64_t row) const { return t.outputs.rows + row * output_stride; }
  float* node(int64_t row) const { return t.nodes.rows + row * output_stride; }
  // The path of position a's target: entries [path_begin, path_end) of t.paths.
  int32_t path_begin(int64_t a) const { return t.paths.offsets[u.targets[a]]; }
  int32_t path_end(int64_t a) const { return t.paths.offsets[u.targets[a] + 1]; }
  // Writes the nodes of position a's path, or their copies, and the nodes' labels: 1 for code 0, -1 for code 1.
  // Returns the number of nodes.
  int list_path(int64_t a, float** nodes, float* labels) const {
    const int32_t* path = t.paths.entries.data + path_begin(a);
    const int n_nodes = path_end(a) - path_begin(a), row_stride = static_cast<int>(output_stride);
    float* const rows = t.nodes.rows;
    int k = 0;
    for (; hot_nodes && k < n_nodes && hot_nodes->has(path[k] >> 1); ++k) {
      nodes[k] = hot_nodes->use(path[k] >> 1);
      labels[k] = path[k] & 1 ? -1.f : 1.f;
    }
    for (; k < n_nodes; ++k) {
      nodes[k] = rows + int64_t{path[k] >> 1} * row_stride;
      labels[k] = path[k] & 1 ? -1.f : 1.f;
    }
    return n_nodes;
  }
  // Factor of an input row's updates.
  float lock_factor(int32_t row) const { return t.lock.size ? t.lock[row] : 1.f; }

  // Negatives of a block that position a uses.
  Noise noise(int64_t block, int64_t a) const {
    const int shard = u.shards.size ? u.shards[a] : 0;
    const int n_negatives = (o.shared - shard + o.shards - 1) / o.shards;
    return {u.negatives.data + block * o.shared, shard, o.shards, n_negatives};
  }

  // Returns whether a position is a (tag, token) pair: its own input predicts its target.
  bool is_tag_pair(int64_t a) const { return a >= n - n_tag_pairs; }

  // Rows of inputs of the tags in a position's window, from tags_begin() to tags_end().
  const int32_t* tags_begin(int64_t a) const {
    return u.documents.size ? &u.tags[u.first_tags[u.documents[a]]] : nullptr;
  }
  const int32_t* tags_end(int64_t a) const {
    return u.documents.size ? &u.tags[u.first_tags[u.documents[a] + 1]] : nullptr;
  }

  // Returns whether skip-gram trains pair by pair, and subwords.h composes inputs once per position.
  // With subwords, the input of a position then predicts the words of its window. In the usual direction,
  // inputs of the window's words would lack each other's updates of shared n-grams.
  bool one_by_one() const { return o.skipgram && o.sequential && o.group == 1 && o.span == 1; }

  // Number of gensim's rows in a position's window, the divisor of means.
  float count(int64_t a) const {
    if (!t.weights.size) return u.reaches[2 * a] + u.reaches[2 * a + 1] + (tags_end(a) - tags_begin(a));
    float sum = -t.weights[u.inputs[a]];
    for (int64_t j = a - u.reaches[2 * a]; j <= a + u.reaches[2 * a + 1]; ++j) sum += t.weights[u.inputs[j]];
    return sum;
  }

  // Prefetches the rows that a position uses but the positions before it do not: the last word of its widest
  // possible window, its target if `sampled`, and the nodes of its path. The path itself must be in cache, so
  // each call also prefetches the path of the position `later`.
  void prefetch_position(int64_t a, int64_t later, bool sampled) const {
    constexpr int kNear = 8;  // first nodes of a path, near the root and always in cache
    if (sampled) prefetch(output(u.targets[a]), stride);
    if (a + o.window < n) prefetch(input(u.inputs[a + o.window]), stride);
    if (!o.hierarchical) return;
    if (later < n) prefetch(&t.paths.entries[path_begin(later)], 32);
    for (int32_t k = path_begin(a) + kNear; k < path_end(a); ++k) prefetch(node(t.paths.entries[k] >> 1), stride);
  }

  const Tfw2vOptions& o;
  const Tfw2vUnit& u;
  const Tfw2vTables& t;
  const int n_vectors;          // SIMD vectors per row: D / W, rounded up
  const int64_t stride;         // floats from a row to the next
  const int64_t output_stride;  // floats from an output or node to the next
  HotNodes* const hot_nodes;    // copies of the nodes near the root; null if no other thread trains them
};

}  // namespace tfw2v::TFW2V_ISA
