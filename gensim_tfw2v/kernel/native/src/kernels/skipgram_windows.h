// Skip-gram, window by window, with negative sampling and hierarchical softmax (trainer.h). A group of m
// words x_i of a window predicts outputs y_c of its centre: path nodes, K negatives and the target.
//   z_ic = x_i . y_c, from the rows at the start of the group; g_ic as in trainer.h
//   dy_c = sum_i g_ic x_i
//   dx_i = lock_i (sum_c g_ic y_c + sum_{j < i} (g_i . g_j) x_j)
// The second sum accounts for gensim's order: gensim trains a window word by word, so that a word is updated
// by outputs that previous words have updated, y_c + sum_{j < i} g_jc x_j. Without it, rows are a tenth
// shorter, and nearest neighbours differ. Nodes of a path differ from each other, so without negatives,
// backward_group computes the same by updating nodes before the next word's dx. It needs no g_i . g_j. Without
// o.learn_hidden, dy_c = 0, so there is no second sum.
#pragma once

#include "kernels/windows.h"

namespace tfw2v::TFW2V_ISA {

// Trains the windows of a block in text order, in groups of o.group words; with `windows_only`, without the
// (tag, token) pairs of the unit.
class SkipgramWindows : Windows {
 public:
  SkipgramWindows(const UnitRows& unit, const float alphas[2], Tfw2vResult& result, bool windows_only = false)
      : Windows(unit, alphas, result, 1), dx_(x_.size()), g_(x_.size()), group_(o.group), n_windows_(n - n_tag_pairs),
        is_by_input_(t.weights.size && one_by_one()) {
    // Allocates the maximum that train() needs, because memory must not run short after rows have changed.
    const int64_t m = std::min<int64_t>(group_, x_.size());
    z_.of(m * rounded(y_.size(), W));
    d_.of(m * stride);
    gram_.of(trains_negatives_ && o.learn_hidden ? m * rounded(m, W) : 0);
    if (!n_tag_pairs || !n_windows_ || windows_only) return;
    for (int64_t a = 0, k = n_windows_; a < n_windows_; ++a) {
      while (k < n && u.targets[k] == u.targets[a]) ++k;
      pair_ends_.push_back(k);
    }
    pair_ends_.back() = n;
  }

  // Trains the windows of a block. As in gensim, a word's (tag, token) pairs are trained after its window. In
  // a unit of pairs only, trains the block's pairs.
  void block(int64_t p, bool with_loss) {
    positions(p, std::min(p + o.block, n_windows_ ? n_windows_ : n), with_loss);
  }

  // Trains positions [p, end) of one block, as block() does.
  void positions(int64_t p, int64_t end, bool with_loss) {
    for (int64_t a = p, groups = 0; a < end; ++a) {
      groups = train(a, groups, with_loss);
      if (pair_ends_.empty()) continue;
      for (int64_t k = a ? pair_ends_[a - 1] : n_windows_; k < pair_ends_[a]; ++k) train(k, k % o.block, with_loss);
    }
  }

  using Trainer::take;

 private:
  // Trains the window of position a, or the pair a. `groups` is the number of groups of the block so far:
  // each group uses the next K negatives. Returns `groups` plus the groups of a.
  int64_t train(int64_t a, int64_t groups, bool with_loss) {
    const int64_t block = a / o.block;
    prefetch_next(a, block, static_cast<int>(a % o.block));
    const float step = alpha(is_tag_pair(a) ? a : block * o.block);
    if (is_by_input_) return train_input(a, groups, step, with_loss);
    const int words = add_words(a, 0);
    for (int first = 0; first < words; first += group_) {
      const int columns = add_predicted(a, block, groups++, 0);
      if (columns) train(first, std::min(group_, words - first), columns, step, with_loss);
    }
    if (with_loss) count_predictions(words);
    return groups;
  }

  // Trains a position whose input predicts the words of its window, as in gensim's FastText.
  int64_t train_input(int64_t a, int64_t groups, float step, bool with_loss) {
    x_[0] = input(u.inputs[a]);
    factors_[0] = lock_factor(u.inputs[a]);
    for (int64_t j = a - u.reaches[2 * a]; j <= a + u.reaches[2 * a + 1]; ++j) {
      if (j == a) continue;
      const int columns = add_predicted(j, a / o.block, groups++, 0);
      if (columns) train(0, 1, columns, step, with_loss);
      if (with_loss) count_predictions(1);
    }
    return groups;
  }

  // Trains the inputs with indices [first, first + m) of x_ as one group.
  void train(int first, int m, int columns, float alpha, bool with_loss) {
    const int ld = static_cast<int>(rounded(columns, W));
    float* g = z_.of(int64_t{m} * ld);  // [m, ld] scores, then coefficients
    float* dx = d_.of(m * stride);      // [m, stride]
    float* const* x = x_.data() + first;
    if (group_ == 1 && o.skip_targets) {
      train_in_turn(x[0], columns, n_vectors, alpha, with_loss, dx);
      in_range(columns);
      return add(x[0], dx, factors_[first]);
    }
    for (int i = 0; i < m; ++i) dx_[i] = dx + i * stride, g_[i] = g + int64_t{i} * ld;
    std::fill(labels_.begin() + columns, labels_.begin() + ld, 0.f);
    score(x, m, y_.data(), columns, n_vectors, g, ld);
    for (int i = 0; i < m; ++i) coefficients(g_[i], labels_.data(), ld, alpha, g_[i], with_loss);
    if (!in_range(int64_t{m} * columns)) group_ = 1;
    if (!o.learn_hidden) {
      weighted_sum<Single, true>(g, ld, 1, y_.data(), columns, dx_.data(), m, n_vectors);
    } else if (trains_negatives_) {
      const int lm = static_cast<int>(rounded(m, W));
      float* common = gram_.of(int64_t{m} * lm);  // [m, lm] g_i . g_j
      score(g_.data(), m, g_.data(), m, ld / W, common, lm);
      weighted_sum<Single, true>(g, ld, 1, y_.data(), columns, dx_.data(), m, n_vectors);
      for (int i = 1; i < m; ++i) weighted_sum(common + i * lm, 0, 1, x, i, &dx_[i], 1, n_vectors);
      weighted_sum(g, 1, ld, x, m, y_.data(), columns, n_vectors);
    } else {
      backward_group(g, ld, y_.data(), columns, x, m, n_vectors, dx, stride);
    }
    for (int i = 0; i < m; ++i) add(x[i], dx_[i], factors_[first + i]);
  }

  std::vector<float*> dx_, g_;      // rows of the group's dx and g
  int group_;                       // words per group; 1 once scores were out of range
  const int64_t n_windows_;         // number of positions that have a window
  const bool is_by_input_;          // each input predicts its window: see one_by_one()
  std::vector<int64_t> pair_ends_;  // [n_windows_] end of each word's (tag, token) pairs; empty if there are none
  Buffer z_, d_, gram_;             // memory of a group's g, dx and g_i . g_j
};

}  // namespace tfw2v::TFW2V_ISA
