// Hierarchical softmax of CBOW (Morin and Bengio 2005; Mikolov et al. 2013, "Distributed Representations of
// Words and Phrases and their Compositionality", section 2.1) for groups of positions. The path from the root
// of the Huffman tree to a position's target has nodes y_k with codes b_k, 0 or 1; l_k = 1 - 2 b_k:
//   p(target) = product over k of sigmoid(l_k h . y_k),  loss = -log p(target)
//   g_k = alpha l_k sigmoid(-l_k h . y_k),  dh = sum_k g_k y_k,  dy_k = g_k h
// Scores are computed from the rows at the start of the group. Then the positions are updated sequentially:
// if paths share a node, the later position adds the already updated node to its dh.
#pragma once

#include "kernels/cbow_sums.h"

namespace tfw2v::TFW2V_ISA {

// Concatenates the paths of a group's positions, so that vectors of coefficients are full.
class GroupPaths : UnitRows {
 public:
  // max_path: maximum number of nodes of a path
  GroupPaths(const UnitRows& unit, int64_t max_path) : UnitRows(unit) {
    if (!o.hierarchical) return;
    nodes_.reserve(kGroup * max_path);
    labels.reserve(rounded(kGroup * max_path, W));
    z.reserve(labels.capacity() + W);
  }

  // Computes z and labels of a group: scores of each hidden layer with the nodes of its position's path.
  void predict(const Position* group) {
    for (int i = 0; i < kGroup; ++i) {
      const int64_t a = group[i].token;
      ends_[i + 1] = ends_[i] + (group[i].valid ? path_end(a) - path_begin(a) : 0);
    }
    TFW2V_ASSERT(nodes() <= static_cast<int64_t>(nodes_.capacity()));
    nodes_.resize(nodes());
    labels.resize(rounded(nodes(), W));
    for (int i = 0; i < kGroup; ++i)
      if (group[i].valid) list_path(group[i].token, nodes_.data() + ends_[i], labels.data() + ends_[i]);
    std::fill(labels.begin() + nodes(), labels.end(), 0.f);
    if (z.size() < labels.size() + W) z.resize(labels.size() + W);
    for (int i = 0; i < kGroup; ++i) {
      const float* hidden = group[i].hidden;
      const int path = ends_[i];
      score(&hidden, 1, nodes_.data() + path, ends_[i + 1] - path, n_vectors, &z[path], 0);
    }
  }

  // Backward pass. z must hold g. Sets dh_rows to dh, and with o.learn_hidden adds dy to the nodes.
  void update(const Position* group, float* dh_rows) {
    for (int i = 0; i < kGroup && !o.learn_hidden; ++i) {
      const int first = ends_[i];
      read_backward<true>(&z[first], nodes_.data() + first, ends_[i + 1] - first, dh_rows + i * stride, n_vectors);
    }
    for (int i = 0; i < kGroup && o.learn_hidden; ++i, dh_rows += stride)
      slices<kSlice>(n_vectors, [&, first = ends_[i], n_nodes = ends_[i + 1] - ends_[i]](auto L, int64_t d) {
        Vector dh[L];
        backward<L>(z.data() + first, nodes_.data() + first, n_nodes, group[i].hidden, d, dh);
        unroll<L>([&](auto l) { store(dh_rows + d + l * W, dh[l]); });
      });
  }

  // Number of nodes of all paths of the group.
  int nodes() const { return ends_[kGroup]; }

  std::vector<float> z;       // scores, then coefficients g_k
  std::vector<float> labels;  // l_k, then 0 up to a multiple of W

 private:
  std::vector<float*> nodes_;  // nodes of the group's paths, concatenated
  int ends_[kGroup + 1] = {};  // path i has indices [ends_[i], ends_[i + 1]) of nodes_
};

}  // namespace tfw2v::TFW2V_ISA
