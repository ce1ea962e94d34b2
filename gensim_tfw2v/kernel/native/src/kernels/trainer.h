// Learning rates and coefficients of all objectives: negative sampling (Mikolov et al. 2013, "Distributed
// Representations of Words and Phrases and their Compositionality", section 2.2) and hierarchical softmax
// (Morin and Bengio 2005, "Hierarchical Probabilistic Neural Network Language Model").
//
// A hidden layer h predicts outputs or nodes y_c with weights v_c: v_c > 0 for label 1, v_c < 0 for label 0.
//   z_c = h . y_c,  loss = sum_c |v_c| log(1 + exp(-sign(v_c) z_c))
//   g_c = -alpha dloss / dz_c = alpha v_c sigmoid(-sign(v_c) z_c)
//   dh = sum_c g_c y_c,  dy_c = g_c h
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/buffer.h"
#include "kernels/products.h"
#include "kernels/unit_rows.h"

namespace tfw2v::TFW2V_ISA {

// Sums over scores z. `loss` is the loss of `predictions` predictions. `sizes` is the sum of abs(z) of
// `scores` scores.
struct Sums {
  double loss = 0, predictions = 0, sizes = 0, scores = 0;

  Sums& operator+=(const Sums& other) {
    loss += other.loss, predictions += other.predictions;
    sizes += other.sizes, scores += other.scores;
    return *this;
  }
  // Adds these sums to `result`. Makes its magnitude infinite if the mean of abs(z) is NaN or at
  // least kMeaningless.
  void into(Tfw2vResult& result) const {
    constexpr double kMeaningless = 40;  // in range, abs(z) exceeds 6 by at most one update
    result.loss += loss;
    result.predictions += predictions;
    result.magnitude += scores && !(sizes / scores < kMeaningless) ? INFINITY : sizes;
  }
};

// A row, and the update to add to it: stride floats each.
using Change = std::pair<float*, const float*>;

// Base class of the trainers. The destructor adds the sums since the last take() to `result`.
class Trainer : protected UnitRows {
 public:
  Trainer(const UnitRows& unit, const float alphas[2], Tfw2vResult& result)
      : UnitRows(unit), alpha_(alphas[0]), fall_(alphas[1] - alphas[0]), result_(result) {}
  ~Trainer() { take().into(result_); }

  // Applies recorded updates.
  void add(const std::vector<Change>& changes) const {
    constexpr size_t kAhead = 4;
    for (size_t i = 0; i < changes.size(); ++i) {
      if (i + kAhead < changes.size()) prefetch(changes[i + kAhead].first, stride);
      add<>(changes[i].first, changes[i].second, 1.f);
    }
  }

  // Returns the sums over scores since the last call, and resets them to 0.
  Sums take() {
    counted_.loss = reduce_add(cost_);
    cost_ = Vector{};
    return std::exchange(counted_, {});
  }

 protected:
  // Learning rate at a position. It falls linearly over the unit's windows, and again over the (tag,
  // token) pairs, which are stored after the windows. gensim interleaves windows and pairs, so each kind
  // has the whole range of learning rates.
  float alpha(int64_t position) const {
    const int64_t windows = n - n_tag_pairs;
    if (is_tag_pair(position)) return alpha_ + fall_ / n_tag_pairs * (position - windows);
    return alpha_ + fall_ / windows * position;
  }
  // Computes to += factor * change, or to = factor * change if `begin`.
  template <bool begin = false>
  void add(float* to, const float* change, float factor) const {
    for (int64_t d = 0, end = int64_t{n_vectors} * W; d < end; d += W) {
      const Vector delta = factor * load(change + d);
      store(to + d, begin ? delta : load(to + d) + delta);
    }
  }

  // Computes the coefficients g of scores z (see the top of this file). Padding and skipped negatives have
  // weight 0, so that g = 0. As with gensim's MAX_EXP, g = 0 where abs(z) >= `limit`: this bounds rows that
  // concurrent updates have moved too far. The sums include the scores beyond the limit. `columns` is a
  // multiple of W. `g` may be `scores`.
  void coefficients(const float* scores, const float* weights, int columns, float alpha, float* g, bool with_loss,
                    float limit = 6.f) {
    TFW2V_ASSERT(columns % W == 0);
    Vector sizes = new_sizes_, cost = new_cost_;  // local, so that they stay in registers
    for (int c = 0; c < columns; c += W) {
      const Vector z = load(scores + c), w = load(weights + c);
      const Vector wrong = w > Vector{} ? -z : z;  // score of the wrong label
      store(g + c, abs(z) < broadcast(limit) ? w * alpha * sigmoid(wrong) : Vector{});
      sizes += w == Vector{} ? Vector{} : abs(z);
      if (with_loss) cost += abs(w) * softplus(wrong);
    }
    new_sizes_ = sizes;
    new_cost_ = cost;
  }

  // Returns whether the mean of abs(z) over the n_scores scores since the last call is at most
  // kMaxMeanScore. Above it, most scores are clipped and give no update. With `retried`, the sums leave out
  // these scores if they are out of range, because the caller computes them again.
  bool in_range(int64_t n_scores, bool retried = false) {
    const float sizes = reduce_add(new_sizes_);
    const bool is_in_range = sizes <= kMaxMeanScore * n_scores;
    if (is_in_range || !retried) {
      counted_.sizes += sizes;
      counted_.scores += n_scores;
      cost_ += new_cost_;
    }
    new_sizes_ = new_cost_ = Vector{};
    return is_in_range;
  }

  // Counts predictions whose loss is summed.
  void count_predictions(int64_t n_predictions) { counted_.predictions += n_predictions; }

 private:
  static constexpr float kMaxMeanScore = 8;  // above it, positions are trained one by one

  float alpha_;  // learning rate at the first position
  float fall_;   // learning rate after the last position, minus alpha_
  // Sums per lane. new_sizes_, new_cost_: abs(z) and loss since the last in_range(). cost_: loss since the last
  // take().
  Vector new_sizes_ = {}, new_cost_ = {}, cost_ = {};
  Sums counted_;
  Tfw2vResult& result_;
};

}  // namespace tfw2v::TFW2V_ISA
