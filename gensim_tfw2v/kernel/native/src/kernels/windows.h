// Base class of the trainers that work window by window: it lists the inputs of a window, and the outputs
// and nodes that they predict.
#pragma once

#include "checked.h"
#include "kernels/trainer.h"

namespace tfw2v::TFW2V_ISA {

class Windows : protected Trainer {
 protected:
  // Allocates memory for a group of at most `max_windows` windows.
  Windows(const UnitRows& unit, const float alphas[2], Tfw2vResult& result, int max_windows)
      : Trainer(unit, alphas, result), trains_negatives_(o.negative && (!o.skipgram || o.sequential)),
        limit_(!t.weights.size                ? 6.f
               : o.skipgram || o.hierarchical ? 8.f
                                              : 80.f) {
    int64_t max_path = 0;
    for (int64_t a = 0; o.hierarchical && a < n; ++a)
      max_path = std::max<int64_t>(max_path, path_end(a) - path_begin(a));
    const int64_t max_sampled = trains_negatives_ ? 1 + o.negative : 0;  // outputs of a window by negative sampling
    const int64_t max_outputs = max_windows * (max_path + max_sampled);
    int64_t max_tags = 0;
    for (int64_t d = 1; d < u.first_tags.size; ++d)
      max_tags = std::max<int64_t>(max_tags, u.first_tags[d] - u.first_tags[d - 1]);
    const int64_t max_words = std::min<int64_t>(2 * int64_t{o.window}, n);  // a unit may be shorter than a window
    x_.resize(max_windows * (max_words + max_tags));
    factors_.resize(x_.size());
    y_.resize(max_outputs);
    labels_.resize(rounded(max_outputs, W));
    turn_labels_.resize(labels_.size());
    turn_scores_.resize(labels_.size() + W);
  }

  // Appends the words and tags of a position's window, or a pair's own input, from x_[end] on. Returns the
  // new end.
  int add_words(int64_t a, int end) {
    const auto add = [&](int32_t row) {
      TFW2V_ASSERT(end < static_cast<int64_t>(x_.size()));
      x_[end] = input(row);
      factors_[end++] = lock_factor(row);
    };
    for (int64_t j = a - u.reaches[2 * a]; j <= a + u.reaches[2 * a + 1]; ++j)
      if (j != a || is_tag_pair(a)) add(u.inputs[j]);
    std::for_each(tags_begin(a), tags_end(a), add);
    return end;
  }

  // Appends the nodes of position a's path, its negatives and its target, with labels, from y_[end] on.
  // Selects K of the block's negatives that position a uses, cyclically from index i * K on. Returns the new end.
  int add_predicted(int64_t a, int64_t block, int64_t i, int end) {
    if (o.hierarchical) {
      TFW2V_ASSERT(end + path_end(a) - path_begin(a) <= static_cast<int64_t>(y_.size()));
      end += list_path(a, y_.data() + end, labels_.data() + end);
    }
    if (!trains_negatives_) return end;
    TFW2V_ASSERT(end + o.negative < static_cast<int64_t>(y_.size()));
    const int32_t target = u.targets[a];
    const Noise from = noise(block, a);
    int at = static_cast<int>(i * o.negative % from.n_negatives);
    for (int k = 0; k < o.negative; ++k) {
      const int32_t negative = from[at];
      if (++at == from.n_negatives) at = 0;
      if (o.skip_targets && negative == target) continue;
      y_[end] = output(negative);
      labels_[end++] = -1.f;
    }
    y_[end] = output(target);
    labels_[end++] = 1.f;
    return end;
  }

  // Trains the first `columns` rows of y_ with a hidden layer of `vectors` vectors, and sets `delta` to the
  // update of that layer. As in gensim, a repeated row is scored again after its first update: in a small
  // vocabulary rows often repeat, and several large updates from one score overshoot. Rows up to the next
  // repeated one are independent, so they are scored as a batch.
  void train_in_turn(const float* hidden, int columns, int vectors, float alpha, bool with_loss, float* delta) {
    std::fill_n(delta, int64_t{vectors} * W, 0.f);
    for (int first = 0, end; first < columns; first = end) {
      for (end = first + 1; end < columns && !is_repeated(first, end);) ++end;
      const int n_outputs = end - first, ld = static_cast<int>(rounded(n_outputs, W));
      std::copy_n(&labels_[first], n_outputs, turn_labels_.begin());
      std::fill_n(turn_labels_.begin() + n_outputs, ld - n_outputs, 0.f);
      score(&hidden, 1, &y_[first], n_outputs, vectors, turn_scores_.data(), 0);
      coefficients(turn_scores_.data(), turn_labels_.data(), ld, alpha, turn_scores_.data(), with_loss, limit_);
      if (!o.learn_hidden) {
        read_backward<false>(turn_scores_.data(), &y_[first], n_outputs, delta, vectors);
        continue;
      }
      slices<kSlice>(vectors, [&](auto L, int64_t d) {
        Vector dh[L];
        backward<L>(turn_scores_.data(), &y_[first], n_outputs, hidden, d, dh);
        unroll<L>([&](auto l) { store(delta + d + l * W, load(delta + d + l * W) + dh[l]); });
      });
    }
  }

  // Prefetches the rows of the window kWindows positions ahead, and a share of the next block's negatives:
  // every B-th from the i-th on, where i is the position's index in its block.
  void prefetch_next(int64_t a, int64_t block, int i) const {
    constexpr int kWindows = 3;  // windows trained in about one memory latency
    if ((a += kWindows) >= n) return;
    prefetch_position(a, a + kWindows, trains_negatives_);
    for (int k = i; k < o.shared && trains_negatives_ && (block + 1) * o.block < n; k += o.block)
      prefetch(output(u.negatives[(block + 1) * o.shared + k]), stride);
  }

  const bool trains_negatives_;  // whether negative sampling is trained here; skip-gram in blocks trains it elsewhere
  std::vector<float*> x_;        // inputs of the windows
  std::vector<float*> y_;        // outputs and nodes that the windows predict
  std::vector<float> factors_;   // factor of the update of each row in x_
  std::vector<float> labels_;    // weight of each row in y_ (trainer.h): 1 for label 1, -1 for label 0, 0 for padding

 private:
  // Returns whether y_[end] occurs in y_[first] .. y_[end - 1].
  bool is_repeated(int first, int end) const { return std::find(&y_[first], &y_[end], y_[end]) != &y_[end]; }

  // Limit of abs(z) in train_in_turn(), as in gensim: 6, or 8 for FastText. FastText's CBOW with negative
  // sampling has no limit in gensim: 80 only keeps exp() in range.
  const float limit_;
  std::vector<float> turn_labels_, turn_scores_;  // labels and scores of one batch in train_in_turn()
};

}  // namespace tfw2v::TFW2V_ISA
