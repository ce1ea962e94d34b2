// Negative sampling of CBOW, and of tags with words, group after group.
#pragma once

#include "cbow_sums.h"

namespace tfw2v::TFW2V_ISA {

// The positions of a group share K negatives, so that each is read and written once for all.
class GroupNegatives : UnitRows {
 public:
  explicit GroupNegatives(const UnitRows& unit)
      : UnitRows(unit), K(o.negative), ld(K ? static_cast<int>(rounded(K + 1, (W + 3) / 4)) : 0),
        z(rounded(kGroup * ld, W)), labels(z.size()), y_(K), to_(K), times_(ld), drawn_(K),
        lanes_(z.size() * W), zero_row_(S) {
    if (K) times_[K] = 1.f;  // of the target
  }

  // Scores of the g-th group of a block with its negatives and targets.
  void predict(int64_t block, int g, const Position* group) {
    constexpr int R = W == 16 ? 4 : 2;
    choose(block, g, group);
    for (int i = 0; i < kGroup; i += R)
      for (int k = 0; k < K; k += kChunk)
        dispatch_constant<kChunk>(K - k, [&](auto Y) {
          k ? score_tile<R, Y, false>(group, i, k) : score_tile<R, Y, true>(group, i, k);
        });
    for (size_t c = 0; c < z.size(); c += W)
      store(&z[c], reduce_lanes(reinterpret_cast<const Vector*>(+lanes_) + c));
  }

  // Backward pass: negatives y += g' h, in place or into `ledger`; dh += g y, or dh = g y if
  // `is_first`.
  void update(const Position* group, float* dh_rows, bool is_first, Ledger* ledger) {
    for (int k = 0; k < K; ++k)
      to_[k] = ledger && y_[k] != zero_row_ ? ledger->record(y_[k]) : y_[k];
    for (int k = 0; k < K; k += kChunk)
      dispatch_constant<kChunk>(K - k, [&](auto Y) {
        dispatch_bool(!k && is_first, [&](auto first) {
          dispatch_bool(ledger, [&](auto begin) { update<Y, first, begin>(group, dh_rows, k); });
        });
      });
  }

  float of_target(int i) const { return K ? z[i * ld + K] : 0.f; }

  const int K, ld;               // ld: scores of a position
  std::vector<float> z, labels;  // scores, then coefficients; and weights of these

 private:
  static constexpr int kChunk = 5;  // negatives that registers have room for

  // The next K of a block's negatives, and which of them count for each position of a group. Of
  // those that are in registers together, one that is there twice counts for both.
  void choose(int64_t block, int g, const Position* group) {
    const int32_t* negatives = u.negatives.data + block * o.shared;
    int at = static_cast<int>(int64_t{g} * K % o.shared);
    for (int k = 0; k < K; ++k) {
      drawn_[k] = negatives[at];
      y_[k] = output(drawn_[k]);
      times_[k] = -1.f;
      if (++at == o.shared) at = 0;
      for (int b = k / kChunk * kChunk; b < k; ++b)
        if (drawn_[b] == drawn_[k] && times_[b] != 0.f) {
          times_[b] += times_[k];
          times_[k] = 0.f;
          y_[k] = zero_row_;
        }
    }
    for (int i = 0; i < kGroup; ++i) {
      const float *times = times_.data(), valid = group[i].valid;
      float* own = labels.data() + i * ld;
      for (int k = 0; k < ld; ++k) own[k] = valid * times[k];
      if (!o.skip_targets || valid == 0.f) continue;
      for (int k = 0; k < K; ++k)
        if (drawn_[k] == u.targets[group[i].token]) own[k] = 0.f;
    }
  }

  // Lanes of the scores of R positions with C negatives, and the first time with their targets.
  template <int R, int Y, bool is_first>
  void score_tile(const Position* group, int i, int k) {
    const float *y[Y], *target[R], *hidden = group[i].hidden;
    const int64_t stride = S;
    for (int c = 0; c < Y; ++c) y[c] = y_[k + c];
    for (int r = 0; r < R; ++r) target[r] = group[i + r].target;
    Vector sum[R][Y + is_first];
    unroll<R>([&](auto r) { unroll<Y + is_first>([&](auto c) { sum[r][c] = Vector{}; }); });
    for (int64_t d = 0, end = int64_t{N} * W; d < end; d += W) {
      Vector h[R];
      unroll<R>([&](auto r) {
        h[r] = load(hidden + r * stride + d);
        if constexpr (is_first) sum[r][Y] += h[r] * load(target[r] + d);
      });
      unroll<Y>([&](auto c) {
        const Vector v = load(y[c] + d);
        unroll<R>([&](auto r) { sum[r][c] += h[r] * v; });
      });
    }
    unroll<R>([&](auto r) {
      float* lanes = lanes_ + (i + r) * ld * W;
      unroll<Y>([&](auto c) { store(lanes + (k + c) * W, sum[r][c]); });
      if constexpr (is_first) store(lanes + K * W, sum[r][Y]);
    });
  }

  // The same for C of the negatives.
  template <int Y, bool is_first, bool begin>
  void update(const Position* group, float* dh_rows, int k) {
    const float *hidden = group->hidden, *y[Y];
    float* to[Y];
    Vector g[kGroup][Y];
    unroll<Y>([&](auto c) {
      y[c] = y_[k + c], to[c] = to_[k + c];
      unroll<kGroup>([&](auto i) { g[i][c] = broadcast(z[i * ld + k + c]); });
    });
    for (int64_t d = 0, end = int64_t{N} * W, stride = S; d < end; d += W) {
      Vector h[kGroup], dh[kGroup];
      unroll<kGroup>([&](auto i) {
        h[i] = load(hidden + i * stride + d);
        dh[i] = is_first ? Vector{} : load(dh_rows + i * stride + d);
      });
      unroll<Y>([&](auto c) {
        const Vector before = load(y[c] + d);
        Vector after = begin ? Vector{} : before;
        unroll<kGroup>([&](auto i) {
          dh[i] += g[i][c] * before;
          after += g[i][c] * h[i];
        });
        store(to[c] + d, after);
      });
      unroll<kGroup>([&](auto i) { store(dh_rows + i * stride + d, dh[i]); });
    }
  }

  std::vector<float*> y_, to_;  // negatives, and where their updates are written
  std::vector<float> times_;  // that each counts
  std::vector<int32_t> drawn_;
  Buffer lanes_, zero_row_;
};

}  // namespace tfw2v::TFW2V_ISA
