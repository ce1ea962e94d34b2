// Skip-gram with negative sampling.
#pragma once

#include <cstring>
#include <utility>

#include "trainer.h"

namespace tfw2v {
namespace TFW2V_ISA {

// Skip-gram with negative sampling: blocks of B inputs share their negatives, and rows are updated
// after each block.
class SkipgramSampled : Trainer {
 public:
  SkipgramSampled(const Tfw2vOptions& options, const Tfw2vDraws& draws, const Tfw2vTables& tables,
                const float alphas[2], Tfw2vResult& result)
      : Trainer(options, draws, tables, alphas, result),
        B(o.block), K(o.shared), Kr(static_cast<int>(rounded(K, W))), w(o.window),
        halo(static_cast<int>(std::min<int64_t>(B + 2 * int64_t{w}, draws.kept + 1))),
        pairs_(B), x_(B), dx_(B), y_(K), rows_(B), packed_(K),
        terms_(std::max<int64_t>({t.stride, B, K})), zeros_(t.stride), none_(Kr), used_(Kr) {
    std::fill_n(used_.begin(), K, 1.f);
    capacity_ = std::min<int64_t>(2 * int64_t{w}, draws.kept);
    lists_.resize(B * capacity_);
    columns_.resize(B * capacity_);
    x_rows_ = xb_.of(B * t.stride);
    dx_rows_ = dxb_.of(B * t.stride);
    g_ = gb_.of(int64_t{B} * Kr);
    weights_ = wb_.of(int64_t{B} * Kr);
    gc_ = cb_.of(int64_t{halo} * std::min(B, 2 * w + 1) + W);
    weights_c_ = wcb_.of(int64_t{halo} * std::min(B, 2 * w + 1) + W);
    begins_.resize(halo);
    for (int i = 0; i < B; ++i) {
      x_[i] = x_rows_ + i * t.stride;
      dx_[i] = dx_rows_ + i * t.stride;
    }
  }

  void block(int64_t p, bool with_loss) {
    const int nb = static_cast<int>(std::min<int64_t>(B, u.kept - p));
    const int64_t low = std::max<int64_t>(0, p - w), high = std::min<int64_t>(u.kept, p + nb + w);
    const int32_t* negatives = u.negatives + p / B * K;
    for (int i = 0; i < nb; ++i) {
      std::memcpy(x_rows_ + i * t.stride, input(u.inputs[p + i]), t.stride * sizeof(float));
      pairs_[i] = 0;
    }
    for (int k = 0; k < K; ++k) y_[k] = output(negatives[k]);
    std::memset(dx_rows_, 0, nb * t.stride * sizeof(float));
    const float a = alpha(p);
    centres(p, nb, low, high, a, with_loss);
    noise(p, nb, low, high, negatives, a, with_loss);
    for (int i = 0; i < nb; ++i)
      gather(&lists_[i * capacity_], 0, 1, &columns_[i * capacity_], pairs_[i], &dx_[i], 1, N);
    // from here on rows change
    update_noise(nb);
    for (int64_t c = low; c < high; ++c) {
      const auto [first, last] = reached(c, p, nb);
      if (first >= last) continue;
      float* row = output(u.targets[c]);
      gather(gc_ + begins_[c - low], 0, 1, x_.data() + first, last - first, &row, 1, N);
    }
    for (int i = 0; i < nb; ++i) add(input(u.inputs[p + i]), dx_[i], locked(u.inputs[p + i]));
  }

 private:
  // Inputs of the block that lie in the window of a centre.
  std::pair<int, int> reached(int64_t c, int64_t p, int nb) const {
    return {static_cast<int>(std::max<int64_t>(0, c - u.reaches[2 * c] - p)),
            static_cast<int>(std::min<int64_t>(nb, c + u.reaches[2 * c + 1] + 1 - p))};
  }

  // Fetches the j-th of the rows that the next block adds: some at a time, or the processor's queue
  // of them is full.
  void look_ahead(int64_t next, int64_t high, int j) const {
    if (next + j < u.kept) fetch_ahead(input(u.inputs[next + j]), t.stride);
    if (high + j < u.kept) fetch_ahead(output(u.targets[high + j]), t.stride);
    if (next < u.kept)
      for (int k = j; k < K; k += B) fetch_ahead(output(u.negatives[next / B * K + k]), t.stride);
  }

  // Coefficients of each centre with the inputs of its window, centre after centre.
  void centres(int64_t p, int nb, int64_t low, int64_t high, float a, bool with_loss) {
    int64_t end = 0;
    for (int64_t c = low; c < high; ++c) {
      if (c - low < B) look_ahead(p + nb, high, static_cast<int>(c - low));
      const auto [first, last] = reached(c, p, nb);
      const float* y = output(u.targets[c]);
      begins_[c - low] = end;
      if (first >= last) continue;
      score_rows<1>(&y, x_.data() + first, last - first, N, &gc_[end], 0);
      std::fill_n(&weights_c_[end], last - first, 1.f);
      if (c >= p && c < p + nb) weights_c_[end + c - p - first] = 0.f;  // not with itself
      end += last - first;
    }
    for (int64_t j = end; j < rounded(end, W); ++j) gc_[j] = weights_c_[j] = 0.f;
    coefficients(gc_, weights_c_, static_cast<int>(rounded(end, W)), a, gc_, with_loss);
    float* lists = lists_.data();  // known not to change with what is stored
    const float** columns = columns_.data();
    int* pairs = pairs_.data();
    for (int64_t c = low; c < high; ++c) {
      const auto [first, last] = reached(c, p, nb);
      const float *g = gc_ + begins_[c - low], *y = output(u.targets[c]);
      for (int i = first; i < last; ++i) {
        if (p + i == c) continue;
        const int64_t place = i * capacity_ + pairs[i]++;
        lists[place] = g[i - first];
        columns[place] = y;
      }
    }
    if (with_loss)
      for (int i = 0; i < nb; ++i) result.predictions += pairs_[i];
  }

  void noise(int64_t p, int nb, int64_t low, int64_t high, const int32_t* negatives, float a,
             bool with_loss) {
    const float share = static_cast<float>(o.negative) / K;
    for (int i = 0; i < nb; ++i) {
      float* weights = weights_ + i * Kr;
      for (int k = 0; k < Kr; k += W)
        store(weights + k, load(used_.data() + k) * (-share * pairs_[i]));
    }
    if (o.skip_targets || o.shards > 1) select(p, nb, low, high, negatives, share);
    score_noise(nb);
    coefficients(g_, weights_, nb * Kr, a, g_, with_loss);
    gather_noise(nb);
  }

#if defined(__AVX512BF16__)
  // In pairs of bfloat16: these products are most of skip-gram's multiply-adds.
  void score_noise(int nb) {
    const int D2 = (t.size + 1) / 2, half = static_cast<int>(rounded(t.stride, 2 * W) / 2);
    float* x = xa_.of(int64_t{B} * half);
    float* y = ya_.of(int64_t{K} * half);
    float* columns = yt_.of(int64_t{half} * Kr);
    for (int i = 0; i < nb; ++i) pair_along(x_[i], N, x + int64_t{i} * half);
    for (int k = 0; k < K; ++k) {
      packed_[k] = y + int64_t{k} * half;
      pair_along(y_[k], N, packed_[k]);
    }
    transpose(packed_.data(), K, D2, columns, Kr);
    for (int d = 0; d < D2; ++d) terms_[d] = columns + int64_t{d} * Kr;
    for (int i = 0; i < nb; ++i) rows_[i] = g_ + int64_t{i} * Kr;
    gather<Pair, true>(x, half, 1, terms_.data(), D2, rows_.data(), nb, Kr / W);
  }

  void gather_noise(int nb) {
    const int pairs = (nb + 1) / 2, kpairs = (K + 1) / 2;
    std::memset(zeros_.data(), 0, t.stride * sizeof(float));
    // of each input, its coefficients in pairs of negatives
    float* ga = ga_.of(int64_t{B} * Kr);
    for (int i = 0; i < nb; ++i) pair_along(g_ + int64_t{i} * Kr, Kr / W, ga + int64_t{i} * Kr);
    float* y = yp_.of(int64_t{kpairs} * t.stride);
    for (int k = 0; k < kpairs; ++k) {
      pair_rows(y_[2 * k], 2 * k + 1 < K ? y_[2 * k + 1] : zeros_.data(), N, y + k * t.stride);
      terms_[k] = y + k * t.stride;
    }
    gather<Pair>(ga, Kr, 1, terms_.data(), kpairs, dx_.data(), nb, N);
    // of each negative, in pairs of inputs
    float* gt = gt_.of(int64_t{pairs} * Kr);
    float* x = xp_.of(int64_t{pairs} * t.stride);
    for (int i = 0; i < pairs; ++i) {
      const bool both = 2 * i + 1 < nb;
      const float* g = g_ + int64_t{2 * i} * Kr;
      pair_rows(g, both ? g + Kr : none_.data(), Kr / W, gt + int64_t{i} * Kr);
      pair_rows(x_[2 * i], both ? x_[2 * i + 1] : zeros_.data(), N, x + i * t.stride);
    }
  }
  void update_noise(int nb) {
    const int pairs = (nb + 1) / 2;
    float* gt = gt_.of(int64_t{pairs} * Kr);
    float* x = xp_.of(int64_t{pairs} * t.stride);
    for (int i = 0; i < pairs; ++i) terms_[i] = x + i * t.stride;
    gather<Pair>(gt, 1, Kr, terms_.data(), pairs, y_.data(), K, N);
  }
#else
  void score_noise(int nb) {
    float* columns = yt_.of(t.stride * Kr);
    transpose(y_.data(), K, t.size, columns, Kr);
    for (int d = 0; d < t.size; ++d) terms_[d] = columns + int64_t{d} * Kr;
    for (int i = 0; i < nb; ++i) rows_[i] = g_ + int64_t{i} * Kr;
    gather<Single, true>(x_rows_, t.stride, 1, terms_.data(), t.size, rows_.data(), nb, Kr / W);
  }
  void gather_noise(int nb) { gather(g_, Kr, 1, y_.data(), K, dx_.data(), nb, N); }
  void update_noise(int nb) { gather(g_, 1, Kr, x_.data(), nb, y_.data(), K, N); }
#endif

  // Weights where negatives do not count the same for each centre.
  void select(int64_t p, int nb, int64_t low, int64_t high, const int32_t* negatives, float share) {
    for (int i = 0; i < nb; ++i) std::fill_n(weights_ + i * Kr, K, 0.f);
    for (int64_t c = low; c < high; ++c) {
      const auto [first, last] = reached(c, p, nb);
      for (int k = 0; k < K; ++k) {
        if (!counts(negatives[k], k, c)) continue;
        const int own = (K - k % o.shards + o.shards - 1) / o.shards;  // negatives of its shard
        for (int i = first; i < last; ++i)
          if (p + i != c) weights_[i * Kr + k] -= share * K / own;
      }
    }
  }

  const int B, K, Kr, w, halo;
  std::vector<int> pairs_;
  std::vector<float*> x_, dx_, y_, rows_, packed_, terms_;
  std::vector<float> zeros_, none_, used_;
  int64_t capacity_;
  std::vector<int64_t> begins_;
  std::vector<float> lists_;
  std::vector<const float*> columns_;
  Buffer xb_, dxb_, gb_, wb_, cb_, wcb_, xa_, ya_, yt_, yp_, xp_, ga_, gt_;
  float *x_rows_, *dx_rows_, *g_, *weights_, *gc_, *weights_c_;
};

}  // namespace TFW2V_ISA
}  // namespace tfw2v
