// CBOW's hierarchical softmax, group after group.
#pragma once

#include "cbow_sums.h"

namespace tfw2v {
namespace TFW2V_ISA {

// The paths of a group's positions one after the other, so that their coefficients fill vectors.
class GroupPaths : UnitRows {
 public:
  explicit GroupPaths(const UnitRows& unit) : UnitRows(unit) {}

  // Scores of a group with the nodes of its paths.
  void score(const Position* group) {
    nodes_.clear();
    labels.clear();
    for (int i = 0; i < kGroup; ++i) {
      const int64_t a = group[i].token;
      for (int32_t k = path_begin(a); group[i].real && k < path_end(a); ++k) {
        nodes_.push_back(node(u.paths.entries[k] / 2));
        labels.push_back(u.paths.entries[k] % 2 ? -1.f : 1.f);
      }
      ends_[i + 1] = nodes();
    }
    labels.resize(rounded(nodes(), W));
    if (z.size() < labels.size() + W) z.resize(labels.size() + W);
    for (int i = 0; i < kGroup; ++i) {
      const float* hidden = group[i].hidden;
      const int path = ends_[i];
      tfw2v::TFW2V_ISA::score(&hidden, 1, nodes_.data() + path, ends_[i + 1] - path, N, &z[path], 0);
    }
  }

  // What the nodes of each position gain, and its hidden layer by them.
  void update(const Position* group, float* gain) {
    for (int i = 0; i < kGroup; ++i)
      slices<kSlice>(N, [&](auto L, int64_t d) { update<L>(group[i], i, gain + i * S + d, d); });
  }

  int nodes() const { return static_cast<int>(nodes_.size()); }

  std::vector<float> z, labels;  // scores, then coefficients; and weights of these

 private:
  template <int L>
  void update(const Position& at, int i, float* gain, int64_t d) const {
    const int end = ends_[i + 1];
    Vector h[L], dh[L];
    repeat<L>([&](auto l) { h[l] = load(at.hidden + d + l * W), dh[l] = Vector{}; });
    for (int e = ends_[i]; e < end; ++e) {
      float* y = nodes_[e] + d;
      const Vector g = all(z[e]);
      repeat<L>([&](auto l) {
        const Vector before = load(y + l * W);
        dh[l] += g * before;
        store(y + l * W, before + g * h[l]);
      });
    }
    repeat<L>([&](auto l) { store(gain + l * W, dh[l]); });
  }

  std::vector<float*> nodes_;
  int ends_[kGroup + 1] = {};
};

}  // namespace TFW2V_ISA
}  // namespace tfw2v
