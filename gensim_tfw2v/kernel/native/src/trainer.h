// What all objectives share: learning rates, and how far scores are off.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "buffer.h"
#include "products.h"
#include "unit_rows.h"

namespace tfw2v::TFW2V_ISA {

// What is known of scores: their loss, of how many predictions, and their sizes and number.
struct Sums {
  double loss = 0, predictions = 0, sizes = 0, scores = 0;

  Sums& operator+=(const Sums& other) {
    loss += other.loss, predictions += other.predictions;
    sizes += other.sizes, scores += other.scores;
    return *this;
  }
  void into(Tfw2vResult& result) const {
    constexpr double kMeaningless = 40;  // of a mean size; those in range are below 6 and a step
    result.loss += loss;
    result.predictions += predictions;
    result.magnitude += scores && !(sizes / scores < kMeaningless) ? INFINITY : sizes;
  }
};

// Of a row, which is to be added to it.
using Change = std::pair<float*, const float*>;

class Trainer : protected UnitRows {
 public:
  Trainer(const UnitRows& unit, const float alphas[2], Tfw2vResult& result)
      : UnitRows(unit), alpha_(alphas[0]), fall_(alphas[1] - alphas[0]), result_(result) {}
  ~Trainer() { take().into(result_); }

  // Applies recorded updates.
  void add(const std::vector<Change>& changes) const {
    constexpr size_t kAhead = 4;
    for (size_t i = 0; i < changes.size(); ++i) {
      if (i + kAhead < changes.size()) prefetch(changes[i + kAhead].first, S);
      add<>(changes[i].first, changes[i].second, 1.f);
    }
  }

  // The sums since the last call.
  Sums take() {
    counted_.loss = reduce_add(cost_);
    cost_ = Vector{};
    return std::exchange(counted_, {});
  }

 protected:
  // Windows have all step sizes of a unit, and so do the pairs after them: gensim trains them in turn.
  float alpha(int64_t position) const {
    const int64_t windows = n - tag_pairs;
    if (is_tag_pair(position)) return alpha_ + fall_ / tag_pairs * (position - windows);
    return alpha_ + fall_ / windows * position;
  }
  template <bool begin = false>
  void add(float* to, const float* change, float factor) const {
    for (int64_t d = 0; d < N * W; d += W) {
      const Vector delta = factor * load(change + d);
      store(to + d, begin ? delta : load(to + d) + delta);
    }
  }

  // Coefficients of scores: how far each is off, times alpha. Weights below 0 are of negatives, and
  // of 0 of what does not count. As in gensim, nothing is learnt from scores of 6 (`limit`) and more,
  // in either direction: that keeps rows short that others have moved too far. `columns` is a
  // multiple of W.
  void coefficients(const float* scores, const float* weights, int columns, float alpha, float* g,
                    bool with_loss, float limit = 6.f) {
    Vector sizes = new_sizes_, cost = new_cost_;  // in registers, unlike members
    for (int c = 0; c < columns; c += W) {
      const Vector z = load(scores + c), w = load(weights + c);
      const Vector wrong = w > Vector{} ? -z : z;  // the score of the other label
      store(g + c, abs(z) < broadcast(limit) ? w * alpha * sigmoid(wrong) : Vector{});
      sizes += w == Vector{} ? Vector{} : abs(z);
      if (with_loss) cost += abs(w) * softplus(wrong);
    }
    new_sizes_ = sizes;
    new_cost_ = cost;
  }

  // Returns whether the mean abs(score) of the `number` scores since the last call is at most
  // kMaxMeanScore. Above it, most scores are clipped and give no update. With `retried`, scores out of
  // range are left out of the sums, because the caller trains their positions again.
  bool in_range(int64_t number, bool retried = false) {
    const float sizes = reduce_add(new_sizes_);
    const bool is_in_range = sizes <= kMaxMeanScore * number;
    if (is_in_range || !retried) {
      counted_.sizes += sizes;
      counted_.scores += number;
      cost_ += new_cost_;
    }
    new_sizes_ = new_cost_ = Vector{};
    return is_in_range;
  }

  void predicted(int64_t number) { counted_.predictions += number; }

 private:
  static constexpr float kMaxMeanScore = 8;  // above it, positions are trained one by one

  float alpha_, fall_;
  Vector new_sizes_ = {}, new_cost_ = {}, cost_ = {};
  Sums counted_;
  Tfw2vResult& result_;
};

}  // namespace tfw2v::TFW2V_ISA
