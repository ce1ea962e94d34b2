// The rows of tables that a unit's draws name.
#pragma once

#include <algorithm>

#include "unit.h"
#include "vector.h"

namespace tfw2v::TFW2V_ISA {

// Negatives of a block that count for a position: all, or those of its target's shard.
struct Noise {
  const int32_t* negatives;
  int first, step, number;
  int column(int j) const { return first + j * step; }
  int32_t operator[](int j) const { return negatives[column(j)]; }
};

// A unit's negatives, windows, paths and tags by position, and the rows that it names.
class UnitRows {
 public:
  UnitRows(const Tfw2vOptions& options, const Tfw2vUnit& unit, const Tfw2vTables& tables)
      : n(unit.targets.size), tag_pairs(unit.counts.size ? unit.counts[0] : 0), o(options), u(unit),
        t(tables), N(static_cast<int>((t.size + W - 1) / W)), S(t.stride),
        H(S * std::max(1, o.concatenated)) {}

  const int64_t n, tag_pairs;

 protected:
  float* input(int64_t row) const { return t.inputs.rows + row * t.stride; }
  float* output(int64_t row) const { return t.outputs.rows + row * H; }
  float* node(int64_t row) const { return t.nodes.rows + row * H; }
  int32_t path_begin(int64_t a) const { return t.paths.first[u.targets[a]]; }
  int32_t path_end(int64_t a) const { return t.paths.first[u.targets[a] + 1]; }
  float locked(int32_t row) const { return t.lock.size ? t.lock[row] : 1.f; }

  Noise noise(int64_t block, int64_t a) const {
    const int shard = u.shards.size ? u.shards[a] : 0;
    const int number = (o.shared - shard + o.shards - 1) / o.shards;
    return {u.negatives.data + block * o.shared, shard, o.shards, number};
  }

  // Whether a position's own input predicts its target, instead of those of a window.
  bool is_tag_pair(int64_t a) const { return a >= n - tag_pairs; }

  // Tags that are in a position's window.
  const int32_t* tags_begin(int64_t a) const {
    return u.documents.size ? &u.tags[u.first_tags[u.documents[a]]] : nullptr;
  }
  const int32_t* tags_end(int64_t a) const {
    return u.documents.size ? &u.tags[u.first_tags[u.documents[a] + 1]] : nullptr;
  }

  // Whether pairs of skip-gram are trained one by one, and inputs made of subwords anew for each
  // position. Each input then predicts its window: inputs that a window is predicted by would miss
  // each other's updates of what they share.
  bool one_by_one() const { return o.skipgram && o.sequential && o.group == 1 && o.span == 1; }

  // Rows of a position's window.
  float count(int64_t a) const {
    if (!t.weights.size)
      return u.reaches[2 * a] + u.reaches[2 * a + 1] + (tags_end(a) - tags_begin(a));
    float sum = -t.weights[u.inputs[a]];
    for (int64_t j = a - u.reaches[2 * a]; j <= a + u.reaches[2 * a + 1]; ++j)
      sum += t.weights[u.inputs[j]];
    return sum;
  }

  // Prefetches what a position adds to those before it: the last word of its window, its target if that
  // is `sampled`, and the nodes of its path, which has been prefetched; and the path of a later one.
  void prefetch_position(int64_t a, int64_t later, bool sampled) const {
    constexpr int kNear = 8;  // nodes next to the root are never far
    if (sampled) prefetch(output(u.targets[a]), S);
    if (a + o.window < n) prefetch(input(u.inputs[a + o.window]), S);
    if (!o.hierarchical) return;
    if (later < n) prefetch(&t.paths.entries[path_begin(later)], 16);
    for (int32_t k = path_begin(a) + kNear; k < path_end(a); ++k)
      prefetch(node(t.paths.entries[k] / 2), S);
  }

  const Tfw2vOptions& o;
  const Tfw2vUnit& u;
  const Tfw2vTables& t;
  const int N;      // vectors that D numbers take
  const int64_t S;  // floats from a row to the next
  const int64_t H;  // of outputs and nodes
};

}  // namespace tfw2v::TFW2V_ISA
