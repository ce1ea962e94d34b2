// CBOW, window by window, with negative sampling and hierarchical softmax. For the words and tags x_j of
// a window:
//   h = forward_scale sum_j x_j,  z_c = h . y_c, from the rows at the start of a group;  g_c as in trainer.h
//   for each output or node c in order: dh += g_c y_c, then y_c += g_c h
//   x_j += lock_j backward_scale dh
// The scales are defined in cbow_blocks.h.
#pragma once

#include "kernels/windows.h"

namespace tfw2v::TFW2V_ISA {

// Computes the scores of a group of windows, then updates these windows sequentially. In a group of a single window,
// the processor would mostly wait for the scores.
class CbowWindows : Windows {
 public:
  // `group`: windows per group, limited to kMaxWindows.
  CbowWindows(const UnitRows& unit, const float alphas[2], Tfw2vResult& result, int group)
      : Windows(unit, alphas, result, kMaxWindows), group_(std::min(group, kMaxWindows)), scores_(labels_.size() + W),
        hidden_(kMaxWindows * stride), delta_(stride) {}

  void block(int64_t p, bool with_loss) {
    const int nb = static_cast<int>(std::min<int64_t>(o.block, n - p));
    const int64_t block = p / o.block;
    int n_windows = 0;
    for (int i = 0; i < nb; ++i) {
      prefetch_next(p + i, block, i);
      const int end = add_words(p + i, x_ends_[n_windows]);
      if (end > x_ends_[n_windows]) {  // else the window is empty
        x_ends_[n_windows + 1] = end;
        y_ends_[n_windows + 1] = add_predicted(p + i, block, i, y_ends_[n_windows]);
        counts_[n_windows] = count(p + i);
        ++n_windows;
      }
      if (n_windows && (n_windows == group_ || i + 1 == nb)) {
        train(n_windows, alpha(p), with_loss);
        n_windows = 0;
      }
    }
  }

  // Trains the window of one position, as a group of 1.
  void window(int64_t a, bool with_loss) {
    x_ends_[1] = add_words(a, 0);
    y_ends_[1] = add_predicted(a, a / o.block, a % o.block, 0);
    counts_[0] = count(a);
    train(1, alpha(a / o.block * o.block), with_loss);
  }

  using Trainer::take;
  // Maximum number of outputs and nodes of a window.
  int64_t max_outputs() const { return y_.size(); }

 private:
  static constexpr int kMaxWindows = 4;  // maximum windows per group

  // Trains the first n_windows windows listed in x_ends_ and y_ends_.
  void train(int n_windows, float alpha, bool with_loss) {
    if (with_loss) count_predictions(n_windows);
    if (group_ == 1 && o.skip_targets) return train_alone(alpha, with_loss);
    const int columns = y_ends_[n_windows], ld = static_cast<int>(rounded(columns, W));
    std::fill(labels_.begin() + columns, labels_.begin() + ld, 0.f);
    for (int g = 0; g < n_windows; ++g) {
      slices<kSlice>(n_vectors, [&](auto L, int64_t d) { sum_up<L>(g, d); });
      const float* hidden = hidden_ + g * stride;
      score(&hidden, 1, y_.data() + y_ends_[g], y_ends_[g + 1] - y_ends_[g], n_vectors, scores_ + y_ends_[g], 0);
    }
    coefficients(scores_, labels_.data(), ld, alpha, scores_, with_loss);
    if (!in_range(columns)) group_ = 1;
    for (int g = 0; g < n_windows; ++g) {
      if (!o.learn_hidden) {
        const int first = y_ends_[g];
        read_backward<true>(scores_ + first, &y_[first], y_ends_[g + 1] - first, delta_, n_vectors);
        update_words(g);
        continue;
      }
      slices<kSlice>(n_vectors, [&](auto L, int64_t d) { update<L>(g, d); });
    }
  }

  // Trains one window in gensim's order: a repeated output is scored again after its first update.
  void train_alone(float alpha, bool with_loss) {
    slices<kSlice>(n_vectors, [&](auto L, int64_t d) { sum_up<L>(0, d); });
    train_in_turn(hidden_, y_ends_[1], n_vectors, alpha, with_loss, delta_);
    in_range(y_ends_[1]);
    update_words(0);
  }

  // Adds delta_, as dh, to the words of window g.
  void update_words(int g) const {
    const float factor = o.mean == o.corrected ? 1.f / counts_[g] : 1.f;
    for (int i = x_ends_[g]; i < x_ends_[g + 1]; ++i) add(x_[i], delta_, factor * factors_[i]);
  }

  // Computes L vectors, from float d on, of the hidden layer of window g.
  template <int L>
  void sum_up(int g, int64_t d) const {
    const int x_end = x_ends_[g + 1];
    const float mean = o.mean ? 1.f / counts_[g] : 1.f;
    Vector h[L];
    unroll<L>([&](auto l) { h[l] = Vector{}; });
    for (int i = x_ends_[g]; i < x_end; ++i) {
      const float* x = x_[i] + d;
      unroll<L>([&](auto l) { h[l] += load(x + l * W); });
    }
    float* hidden = hidden_ + g * stride + d;
    unroll<L>([&](auto l) { store(hidden + l * W, mean * h[l]); });
  }

  // Updates outputs and words of window g, L vectors from float d on. A negative drawn twice is updated
  // twice, the second time from its new value.
  template <int L>
  void update(int g, int64_t d) const {
    const int x_end = x_ends_[g + 1], first = y_ends_[g];
    const float factor = o.mean == o.corrected ? 1.f / counts_[g] : 1.f;
    Vector dh[L];
    backward<L>(scores_ + first, y_.data() + first, y_ends_[g + 1] - first, hidden_ + g * stride, d, dh);
    for (int i = x_ends_[g]; i < x_end; ++i) {
      float* x = x_[i] + d;
      const float scale = factor * factors_[i];
      unroll<L>([&](auto l) { store(x + l * W, load(x + l * W) + scale * dh[l]); });
    }
  }

  int group_;  // windows per group; 1 once scores were out of range
  // Window g of a group has indices [x_ends_[g], x_ends_[g + 1]) of x_; likewise y_ends_ and y_.
  int x_ends_[kMaxWindows + 1] = {}, y_ends_[kMaxWindows + 1] = {};
  float counts_[kMaxWindows];  // number of gensim's rows in each window
  Buffer scores_;              // scores z, then coefficients g
  Buffer hidden_;              // [kMaxWindows, stride] h of each window
  Buffer delta_;               // [stride] dh of update_words()
};

}  // namespace tfw2v::TFW2V_ISA
