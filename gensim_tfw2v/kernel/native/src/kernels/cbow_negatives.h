// Negative sampling for groups of positions, of CBOW or of (tag, token) pairs. The positions of a group, with
// hidden layers h_i and targets y_t(i), share K negatives y_k, each drawn r_k times. Index K stands for the target:
//   z_ik = h_i . y_k,  z_iK = h_i . y_t(i)
//   g_ik = -alpha r_k sigmoid(z_ik),  g_iK = alpha sigmoid(-z_iK)
//   dh_i = sum_k g_ik y_k + g_iK y_t(i),  v_i = backward_scale_i dh_i
//   dy_k = sum_i g_ik h_i,  dy_t(i) = g_iK h_i
// v_i is the update of the inputs of position i. For CBOW, it lacks the factors lock_j, and backward_scale is defined
// in cbow_blocks.h. For a (tag, token) pair, backward_scale_i is the factor lock of the tag.
// The caller computes g from z and `labels` (Trainer::coefficients). Without a ledger, rows are updated in place,
// kChunk negatives at a time. If a negative is drawn again in a later chunk, its already updated row is added to dh.
#pragma once

#include "kernels/cbow_sums.h"

namespace tfw2v::TFW2V_ISA {

// Trains a group with its targets and its shared negatives. Each negative is read and written only once for the
// kGroup positions.
class GroupNegatives : UnitRows {
 public:
  explicit GroupNegatives(const UnitRows& unit)
      : UnitRows(unit), K(o.negative), ld(K ? static_cast<int>(rounded(K + 1, (W + 3) / 4)) : 0),
        z(rounded(kGroup * ld, W)), labels(z.size()), y_(K), to_(K), times_(ld), drawn_(K), lanes_(z.size() * W),
        zero_row_(stride), unused_row_(stride) {
    if (K) times_[K] = 1.f;  // label of the target
    std::fill(to_.begin(), to_.end(), +unused_row_);
    std::fill_n(to_target_, kGroup, +unused_row_);
  }

  // Computes z and labels of the g-th group of a block.
  void predict(int64_t block, int g, const Position* group) {
    constexpr int n_x = W == 16 ? 4 : 2;  // positions whose sums fit in registers
    choose(block, g, group);
    for (int i = 0; i < kGroup; i += n_x)
      for (int k = 0; k < K; k += kChunk)
        dispatch_constant<kChunk>(K - k, [&](auto n_y) {
          if (k)
            score_tile<n_x, n_y, false>(group, i, k);
          else
            score_tile<n_x, n_y, true>(group, i, k);
        });
    for (size_t c = 0; c < z.size(); c += W) store(&z[c], reduce_lanes(reinterpret_cast<const Vector*>(+lanes_) + c));
  }

  // Backward pass. z must hold g. Adds dy to the outputs or, if `ledger` is not null, records dy there. Discards dy
  // without o.learn_hidden. Overwrites the hidden layers with v. If `is_first` is false, dh_rows already hold the
  // part of dh that comes from hierarchical softmax.
  void update(const Position* group, float* dh_rows, bool is_first, Ledger* ledger) {
    if (o.learn_hidden) {
      for (int k = 0; k < K; ++k) to_[k] = ledger && y_[k] != zero_row_ ? ledger->record(y_[k]) : y_[k];
      for (int i = 0; i < kGroup; ++i)
        to_target_[i] = ledger && group[i].valid ? ledger->record(group[i].target) : group[i].target;
    }  // without learn_hidden, all elements of to_ and to_target_ remain unused_row_
    const bool begins = ledger || !o.learn_hidden;
    for (int k = 0; k < K; k += kChunk)
      dispatch_constant<kChunk>(K - k,
                                [&](auto n_y) { update_chunk<n_y>(group, dh_rows, is_first && !k, begins, k); });
  }

  std::vector<const float*> next;  // rows that update() prefetches
  const int K, ld;
  // [kGroup, ld], where kGroup * ld is a multiple of W. Columns 0 .. K - 1 are for the negatives, column K is
  // for the target, and the remaining columns are 0.
  // z: scores, then coefficients. labels: -r_k for negatives and 1 for targets, but 0 for skipped negatives and for
  // invalid positions.
  std::vector<float> z, labels;

 private:
  static constexpr int kChunk = 5;  // negatives whose sums fit in registers
  static constexpr int kLine = 16;  // floats of a cache line

  // Selects K of a block's negatives, cyclically from index g K on, and sets labels. A negative that occurs
  // several times in a chunk is merged: the first one has r_k > 1, the rest have label 0 and zero_row_.
  void choose(int64_t block, int g, const Position* group) {
    TFW2V_ASSERT((block + 1) * o.shared <= u.negatives.size);
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

  // Computes the scores of n_x positions, from the i-th on, with n_y negatives, from the k-th on, as vectors in
  // lanes_ whose lanes predict() adds up. If `is_first`, also the scores with the positions' targets.
  template <int n_x, int n_y, bool is_first>
  void score_tile(const Position* group, int i, int k) {
    const float *y[n_y], *target[n_x], *hidden = group[i].hidden;
    const int64_t row_stride = stride;
    for (int c = 0; c < n_y; ++c) y[c] = y_[k + c];
    for (int r = 0; r < n_x; ++r) target[r] = group[i + r].target;
    Vector sum[n_x][n_y + is_first];
    unroll<n_x>([&](auto r) { unroll<n_y + is_first>([&](auto c) { sum[r][c] = Vector{}; }); });
    for (int64_t d = 0, end = int64_t{n_vectors} * W; d < end; d += W) {
      Vector h[n_x];
      unroll<n_x>([&](auto r) {
        h[r] = load(hidden + r * row_stride + d);
        if constexpr (is_first) sum[r][n_y] += h[r] * load(target[r] + d);
      });
      unroll<n_y>([&](auto c) {
        const Vector v = load(y[c] + d);
        unroll<n_x>([&](auto r) { sum[r][c] += h[r] * v; });
      });
    }
    unroll<n_x>([&](auto r) {
      float* lanes = lanes_ + (i + r) * ld * W;
      unroll<n_y>([&](auto c) { store(lanes + (k + c) * W, sum[r][c]); });
      if constexpr (is_first) store(lanes + K * W, sum[r][n_y]);
    });
  }

  // Calls update() for n_y negatives, from the k-th on. `begins`: the updates overwrite their destinations in the
  // ledger, instead of being added to rows.
  template <int n_y>
  void update_chunk(const Position* group, float* dh_rows, bool is_first, bool begins, int k) {
    if (k + kChunk < K) {
      if (begins)
        update<n_y, false, true>(group, dh_rows, is_first, k);
      else
        update<n_y, false, false>(group, dh_rows, is_first, k);
    } else {
      if (begins)
        update<n_y, true, true>(group, dh_rows, is_first, k);
      else
        update<n_y, true, false>(group, dh_rows, is_first, k);
    }
  }

  // Backward pass with n_y negatives, from the k-th on. With the last negatives, includes the targets, and prefetches
  // `next`, one cache line of each row at a time: rows are in different pages, whose addresses are then translated
  // concurrently.
  template <int n_y, bool is_last, bool begin>
  void update(const Position* group, float* dh_rows, bool is_first, int k) {
    float *hidden = group->hidden, *y[n_y], *to[n_y], *target[kGroup], *to_target[kGroup];
    Vector g[kGroup][n_y], g_target[kGroup], scale[kGroup];
    unroll<n_y>([&](auto c) { y[c] = y_[k + c], to[c] = begin ? to_[k + c] : y[c]; });
    unroll<kGroup>([&](auto i) {
      unroll<n_y>([&](auto c) { g[i][c] = broadcast(z[i * ld + k + c]); });
      target[i] = group[i].target, to_target[i] = begin ? to_target_[i] : target[i];
      g_target[i] = broadcast(z[i * ld + K]), scale[i] = broadcast(group[i].backward_scale);
    });
    const float *const *first_next = next.data(), *const *end_next = first_next + next.size();
    for (int64_t d = 0, end = int64_t{n_vectors} * W, row_stride = stride; d < end; d += W) {
      if (is_last && d % kLine == 0)
        for (auto row = first_next; row < end_next; ++row) __builtin_prefetch(*row + d, 1, 2);
      Vector h[kGroup], dh[kGroup];
      unroll<kGroup>([&](auto i) {
        h[i] = load(hidden + i * row_stride + d);
        dh[i] = is_first ? Vector{} : load(dh_rows + i * row_stride + d);
      });
      unroll<n_y>([&](auto c) {
        const Vector before = load(y[c] + d);
        Vector after = begin ? Vector{} : before;
        unroll<kGroup>([&](auto i) {
          dh[i] += g[i][c] * before;
          after += g[i][c] * h[i];
        });
        store(to[c] + d, after);
      });
      unroll<kGroup>([&](auto i) {
        if constexpr (!is_last) return store(dh_rows + i * row_stride + d, dh[i]);
        const Vector before = load(target[i] + d), after = g_target[i] * h[i];
        store(hidden + i * row_stride + d, scale[i] * (dh[i] + g_target[i] * before));
        store(to_target[i] + d, begin ? after : before + after);
      });
    }
  }

  std::vector<float*> y_;       // [K] rows of the negatives; zero_row_ for merged ones
  std::vector<float*> to_;      // [K] destinations of the negatives' updates: y_, or the ledger
  float* to_target_[kGroup];    // destinations of the targets' updates
  std::vector<float> times_;    // [ld] labels of a position that skips no negative
  std::vector<int32_t> drawn_;  // [K] ids of the negatives
  // lanes_: [kGroup, ld, W] partial sums of each score. zero_row_: row of merged negatives, which stays 0,
  // because their coefficients are 0. unused_row_: destination of all updates without o.learn_hidden.
  Buffer lanes_, zero_row_, unused_row_;
};

}  // namespace tfw2v::TFW2V_ISA
