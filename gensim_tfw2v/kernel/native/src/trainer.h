// What all objectives share: the rows of tables, and how far scores are off.
#pragma once

#include <algorithm>
#include <cmath>

#include "buffer.h"
#include "kernel.h"
#include "products.h"

namespace tfw2v {
namespace TFW2V_ISA {

// What all objectives of a unit share.
class Trainer {
 public:
  Trainer(const Tfw2vOptions& options, const Tfw2vDraws& draws, const Tfw2vTables& tables,
          const float alphas[2], Tfw2vResult& result)
      : o(options), u(draws), t(tables), N(static_cast<int>((tables.size + W - 1) / W)), result(result),
        alpha_(alphas[0]), slope_(u.kept ? (alphas[1] - alphas[0]) / u.kept : 0.f) {}
  ~Trainer() {
    result.magnitude += scores_ && !(sizes_ / scores_ < kMeaningless) ? INFINITY : sizes_;
    result.loss += total(cost_);
  }

 protected:
  float alpha(int64_t position) const { return alpha_ + slope_ * position; }
  float* input(int64_t row) const { return t.inputs.rows + row * t.stride; }
  float* output(int64_t row) const { return t.outputs.rows + row * t.stride; }
  float* node(int64_t row) const { return t.nodes.rows + row * t.stride; }
  int32_t path_begin(int64_t a) const { return u.paths.first[u.leaves[a]]; }
  int32_t path_end(int64_t a) const { return u.paths.first[u.leaves[a] + 1]; }
  float locked(int32_t row) const { return t.lock ? t.lock[row] : 1.f; }
  void add(float* to, const float* change, float factor) const {
    for (int64_t d = 0; d < N * W; d += W)
      store(to + d, load(to + d) + factor * load(change + d));
  }
  // Negatives of its block that count for a target, times how often.
  bool counts(int32_t negative, int k, int64_t position) const {
    return (!o.skip_targets || negative != u.targets[position]) &&
           (o.shards == 1 || k % o.shards == shard(position));
  }
  int shard(int64_t position) const {
    return o.shards == 1 ? 0 : (u.words ? u.words : u.targets)[position] % o.shards;
  }

  // Rows of a position's window.
  float count(int64_t a) const {
    if (!t.weights) return u.reaches[2 * a] + u.reaches[2 * a + 1];
    float sum = -t.weights[u.inputs[a]];
    for (int64_t j = a - u.reaches[2 * a]; j <= a + u.reaches[2 * a + 1]; ++j)
      sum += t.weights[u.inputs[j]];
    return sum;
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

  const Tfw2vOptions& o;
  const Tfw2vDraws& u;
  const Tfw2vTables& t;
  const int N;  // vectors that D numbers take
  Tfw2vResult& result;

 private:
  // Mean sizes of scores: from which on smaller steps are taken, and from which on vectors mean
  // nothing. Sane ones are below 6 and a step.
  static constexpr float kWild = 8, kMeaningless = 40;

  float alpha_, slope_;
  Vector new_sizes_ = {}, new_cost_ = {}, cost_ = {};
  double sizes_ = 0, scores_ = 0;
};

}  // namespace TFW2V_ISA
}  // namespace tfw2v
