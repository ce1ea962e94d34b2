// What all objectives share: learning rates, and how far scores are off.
#pragma once

#include <algorithm>
#include <cmath>

#include "buffer.h"
#include "products.h"
#include "unit_rows.h"

namespace tfw2v::TFW2V_ISA {

class Trainer : protected UnitRows {
 public:
  Trainer(const UnitRows& unit, const float alphas[2], Tfw2vResult& result)
      : UnitRows(unit), result(result), alpha_(alphas[0]),
        slope_(u.kept ? (alphas[1] - alphas[0]) / u.kept : 0.f) {}
  ~Trainer() {
    result.magnitude += scores_ && !(sizes_ / scores_ < kMeaningless) ? INFINITY : sizes_;
    result.loss += total(cost_);
  }

 protected:
  float alpha(int64_t position) const { return alpha_ + slope_ * position; }
  void add(float* to, const float* change, float factor) const {
    for (int64_t d = 0; d < N * W; d += W)
      store(to + d, load(to + d) + factor * load(change + d));
  }

  // Coefficients of scores: how far each is off, times alpha. Weights below 0 are of negatives, and
  // of 0 of what does not count. As in gensim, nothing is learnt from scores of 6 and more, in
  // either direction: that keeps rows short that others have moved too far. `columns` is a multiple
  // of W.
  void coefficients(const float* scores, const float* weights, int columns, float alpha, float* g,
                    bool with_loss) {
    Vector sizes = new_sizes_, cost = new_cost_;  // in registers, unlike members
    for (int c = 0; c < columns; c += W) {
      const Vector z = load(scores + c), w = load(weights + c);
      const Vector wrong = w > Vector{} ? -z : z;  // the score of the other label
      store(g + c, absolute(z) < all(6.f) ? w * alpha * sigmoid(wrong) : Vector{});
      sizes += w == Vector{} ? Vector{} : absolute(z);
      if (with_loss) cost += absolute(w) * softplus(wrong);
    }
    new_sizes_ = sizes;
    new_cost_ = cost;
  }

  // Whether the scores since the last call, so many, are sane: else rows are so long that few of
  // them teach anything. Those that are not are left out of the sums if they are to be `retried`.
  bool sane(int64_t number, bool retried = false) {
    const float sizes = total(new_sizes_);
    const bool is_sane = sizes <= kWild * number;
    if (is_sane || !retried) {
      sizes_ += sizes;
      scores_ += number;
      cost_ += new_cost_;
    }
    new_sizes_ = new_cost_ = Vector{};
    return is_sane;
  }

  Tfw2vResult& result;

 private:
  // Mean sizes of scores: from which on smaller steps are taken, and from which on vectors mean
  // nothing. Sane ones are below 6 and a step.
  static constexpr float kWild = 8, kMeaningless = 40;

  float alpha_, slope_;
  Vector new_sizes_ = {}, new_cost_ = {}, cost_ = {};
  double sizes_ = 0, scores_ = 0;
};

}  // namespace tfw2v::TFW2V_ISA
