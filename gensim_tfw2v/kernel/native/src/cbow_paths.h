// CBOW's hierarchical softmax, group after group.
#pragma once

#include "cbow_sums.h"

namespace tfw2v::TFW2V_ISA {

// The paths of a group's positions one after the other, so that their coefficients fill vectors.
class GroupPaths : UnitRows {
 public:
  explicit GroupPaths(const UnitRows& unit) : UnitRows(unit) {}

  // Scores of a group with the nodes of its paths.
  void predict(const Position* group) {
    nodes_.clear();
    labels.clear();
    for (int i = 0; i < kGroup; ++i) {
      const int64_t a = group[i].token;
      for (int32_t k = path_begin(a); group[i].valid && k < path_end(a); ++k) {
        nodes_.push_back(node(t.paths.entries[k] / 2));
        labels.push_back(t.paths.entries[k] % 2 ? -1.f : 1.f);
      }
      ends_[i + 1] = nodes();
    }
    labels.resize(rounded(nodes(), W));
    if (z.size() < labels.size() + W) z.resize(labels.size() + W);
    for (int i = 0; i < kGroup; ++i) {
      const float* hidden = group[i].hidden;
      const int path = ends_[i];
      score(&hidden, 1, nodes_.data() + path, ends_[i + 1] - path, N, &z[path], 0);
    }
  }

  // Backward pass: each position's nodes y += g h, and dh = g y.
  void update(const Position* group, float* dh_rows) {
    for (int i = 0; i < kGroup; ++i, dh_rows += S)
      slices<kSlice>(N, [&, first = ends_[i], number = ends_[i + 1] - ends_[i]](auto L, int64_t d) {
        Vector dh[L];
        backward<L>(z.data() + first, nodes_.data() + first, number, group[i].hidden, d, dh);
        unroll<L>([&](auto l) { store(dh_rows + d + l * W, dh[l]); });
      });
  }

  int nodes() const { return static_cast<int>(nodes_.size()); }

  std::vector<float> z, labels;  // scores, then coefficients; and weights of these

 private:
  std::vector<float*> nodes_;
  int ends_[kGroup + 1] = {};
};

}  // namespace tfw2v::TFW2V_ISA
