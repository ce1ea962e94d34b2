// CBOW, block after block.
#pragma once

#include "cbow_windows.h"

namespace tfw2v {
namespace TFW2V_ISA {

// The hidden layers of a block are computed before any row changes, and its words gain after all
// have predicted. Outputs are updated group after group: four positions, which share K negatives, and
// lie apart, for the hidden layers of neighbours are alike and would push a negative the same way. No
// processor can guess the end of a loop over a window: so the sum of a window is the difference of
// two prefix sums, and what its words gain is noted at its two ends, and summed up once a block.
// Groups whose scores are wild are trained window by window.
class CbowBlocks : Trainer {
 public:
  CbowBlocks(const Tfw2vOptions& options, const Tfw2vDraws& draws, const Tfw2vTables& tables,
             const float alphas[2], Tfw2vResult& result)
      : Trainer(options, draws, tables, alphas, result),
        alone_(one_by_one(options)), windows_(alone_, draws, tables, alphas, result),
        B(o.block), K(o.negative), ld(K ? static_cast<int>(rounded(K + 1, (W + 3) / 4)) : 0),
        S(t.stride), used(int64_t{N} * W),
        w(std::min<int64_t>(o.window, u.kept)), positions_(rounded(B, kGroup)), position_of_(B),
        sampled_(static_cast<int>(rounded(kGroup * ld, W))), y_(K), z_(sampled_), labels_(sampled_),
        times_(ld), drawn_(K) {
    if (K) times_[K] = 1.f;  // of the target
    const int64_t rows = B + 2 * w + 1;
    prefix_ = zeros(0, rows * S);
    gains_ = zeros(1, rows * S);
    hidden_ = zeros(2, positions_.size() * S);
    dh_ = zeros(3, kGroup * S);
    lanes_ = zeros(4, int64_t{sampled_} * W);
    nowhere_ = zeros(5, S);
  }

  void block(int64_t p, bool with_loss) {
    const int nb = static_cast<int>(std::min<int64_t>(B, u.kept - p));
    const int groups = (nb + kGroup - 1) / kGroup;
    place(p, nb);
    slices<kSlice>(N, [&](auto L, int64_t d) { sum_up<L>(p, nb, d); });
    wild_.clear();
    for (int g = 0; g < groups; ++g) group(p, g, with_loss);
    slices<kSlice>(N, [&](auto L, int64_t d) { add_gains<L>(p, nb, d); });
    for (int64_t a : wild_) windows_.window(a, with_loss);
  }

 private:
  // Positions of a group, and negatives that registers have room for.
  static constexpr int kGroup = 4, kChunk = 5;

  struct Position {
    int64_t low, high;    // where its window begins and ends: floats from prefix_ on
    const float* x;       // its own input, which is not of its window
    float *hidden, *target;
    float factor, share;  // of the window's sum, and of what its words gain
    float real;           // 1; or 0, if it is alone in its sentence or beyond the unit
    int64_t token;
    int path, path_end;   // its nodes, in nodes_
  };

  static Tfw2vOptions one_by_one(Tfw2vOptions options) {
    options.group = 1;
    return options;
  }

  float* zeros(int buffer, int64_t floats) {
    float* at = buffers_[buffer].of(floats);
    std::fill_n(at, floats, 0.f);
    return at;
  }

  // Finds the windows of a block, which begin at low_.
  void place(int64_t p, int nb) {
    int64_t high = low_ = p;
    for (int64_t a = p; a < p + nb; ++a) {
      low_ = std::min(low_, a - u.reaches[2 * a]);
      high = std::max(high, a + u.reaches[2 * a + 1] + 1);
    }
    rows_ = static_cast<int>(high - low_);
    const int groups = (nb + kGroup - 1) / kGroup;
    for (int i = 0; i < groups * kGroup; ++i) {
      const int at = i % kGroup * groups + i / kGroup;  // in the block
      const int64_t a = p + std::min(at, nb - 1);
      const int before = u.reaches[2 * a], after = u.reaches[2 * a + 1];
      const bool real = at < nb && before + after;
      if (at < nb) position_of_[at] = &positions_[i];
      const float part = real ? 1.f / count(a) : 1.f;
      positions_[i] = {(a - before - low_) * S, (a + after + 1 - low_) * S, input(u.inputs[a]), hidden_ + i * S,
                       K && real ? output(u.targets[a]) : nowhere_, o.mean ? part : 1.f,
                       o.mean == o.corrected ? part : 1.f, static_cast<float>(real), a, 0, 0};
    }
  }

  // Prefix sums of the windows' inputs, and the hidden layers, which are differences of these.
  template <int L>
  void sum_up(int64_t p, int nb, int64_t d) {
    Vector sum[L] = {};
    const int64_t behind = low_ - w - p;
    for (int j = 0; j < rows_ + w; ++j) {
      if (j < rows_) {
        const float* x = input(u.inputs[low_ + j]) + d;
        float* after = prefix_ + (j + 1) * S + d;
        for (int l = 0; l < L; ++l) store(after + l * W, sum[l] += load(x + l * W));
      }
      const int64_t i = behind + j;
      if (i < 0 || i >= nb) continue;
      const Position& at = *position_of_[i];
      const float *low = prefix_ + at.low + d, *high = prefix_ + at.high + d, *x = at.x + d;
      const float factor = at.factor;
      float* hidden = at.hidden + d;
      for (int l = 0; l < L; ++l)
        store(hidden + l * W, factor * (load(high + l * W) - load(low + l * W) - load(x + l * W)));
    }
  }

  // Fetches the rows that four positions add to the block before theirs.
  void look_ahead(int64_t next, int i) const {
    constexpr int kNear = 8;  // nodes next to the root are never far
    for (int64_t a = next + i; a < std::min<int64_t>(next + i + kGroup, u.kept); ++a) {
      if (K) fetch_ahead(output(u.targets[a]), S);
      if (a + w < u.kept) fetch_ahead(input(u.inputs[a + w]), S);
      if (!o.hierarchical) continue;
      if (a + B < u.kept) fetch_ahead(u.paths.entries + path_begin(a + B), 16);
      for (int32_t k = path_begin(a) + kNear; k < path_end(a); ++k)
        fetch_ahead(node(u.paths.entries[k] / 2), S);
    }
    if (!K || next >= u.kept) return;
    const int32_t* negatives = u.negatives + next / B * o.shared;
    for (int k = i / kGroup * K; k < std::min((i / kGroup + 1) * K, o.shared); ++k)
      fetch_ahead(output(negatives[k]), S);
  }

  // Trains four positions: their outputs, and what their words are to gain.
  void group(int64_t p, int g, bool with_loss) {
    Position* at = &positions_[g * kGroup];
    if (K) choose_negatives(p, g, at);
    if (K) score_group(at);
    const int columns = o.hierarchical ? score_paths(at) : sampled_;
    coefficients(z_.data(), labels_.data(), columns, alpha(p), z_.data(), with_loss);
    look_ahead(p + B, g * kGroup);  // while the processor waits for coefficients
    int real = 0;
    for (int i = 0; i < kGroup; ++i) real += at[i].real;
    if (sane(real * (K ? K + 1 : 0) + at[kGroup - 1].path_end, true)) {
      if (with_loss) result.predictions += real;
      return update_group(at);
    }
    for (int i = 0; i < kGroup; ++i) {
      if (at[i].real) wild_.push_back(at[i].token);
      std::fill_n(at[i].hidden, used, 0.f);
    }
  }

  // The next K of a block's negatives, and which of them count for each position of a group. Of
  // those that are in registers together, one that is there twice counts for both.
  void choose_negatives(int64_t p, int g, const Position* group) {
    const int32_t* negatives = u.negatives + p / B * o.shared;
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
          y_[k] = nowhere_;
        }
    }
    for (int i = 0; i < kGroup; ++i) {
      const float *times = times_.data(), real = group[i].real;
      float* labels = labels_.data() + i * ld;
      for (int k = 0; k < ld; ++k) labels[k] = real * times[k];
      if (!o.skip_targets || real == 0.f) continue;
      for (int k = 0; k < K; ++k)
        if (drawn_[k] == u.targets[group[i].token]) labels[k] = 0.f;
    }
  }

  void score_group(const Position* group) {
    constexpr int R = W == 16 ? 4 : 2;
    for (int i = 0; i < kGroup; i += R)
      for (int k = 0; k < K; k += kChunk)
        with_constant<kChunk>(K - k, [&](auto C) {
          if constexpr (C > 0) k ? score_outputs<R, C, false>(group, i, k) : score_outputs<R, C, true>(group, i, k);
        });
    for (int c = 0; c < sampled_; c += W)
      store(&z_[c], sums(reinterpret_cast<const Vector*>(lanes_) + c));
  }

  // Lanes of the scores of R positions with C negatives, and the first time with their targets.
  template <int R, int C, bool is_first>
  void score_outputs(const Position* group, int i, int k) {
    const float *y[C], *target[R], *hidden = group[i].hidden;
    const int64_t stride = S;
    for (int c = 0; c < C; ++c) y[c] = y_[k + c];
    for (int r = 0; r < R; ++r) target[r] = group[i + r].target;
    Vector sum[R][C + is_first];
    repeat<R>([&](auto r) { repeat<C + is_first>([&](auto c) { sum[r][c] = Vector{}; }); });
    for (int64_t d = 0, end = used; d < end; d += W) {
      Vector h[R];
      repeat<R>([&](auto r) {
        h[r] = load(hidden + r * stride + d);
        if constexpr (is_first) sum[r][C] += h[r] * load(target[r] + d);
      });
      repeat<C>([&](auto c) {
        const Vector v = load(y[c] + d);
        repeat<R>([&](auto r) { sum[r][c] += h[r] * v; });
      });
    }
    repeat<R>([&](auto r) {
      float* lanes = lanes_ + (i + r) * ld * W;
      repeat<C>([&](auto c) { store(lanes + (k + c) * W, sum[r][c]); });
      if constexpr (is_first) store(lanes + K * W, sum[r][C]);
    });
  }

  // Scores of a group with the nodes of its paths, after the others in z_: where they end.
  int score_paths(Position* group) {
    nodes_.clear();
    labels_.resize(sampled_);
    for (int i = 0; i < kGroup; ++i) {
      const int64_t a = group[i].token;
      group[i].path = static_cast<int>(nodes_.size());
      for (int32_t k = path_begin(a); group[i].real && k < path_end(a); ++k) {
        nodes_.push_back(node(u.paths.entries[k] / 2));
        labels_.push_back(u.paths.entries[k] % 2 ? -1.f : 1.f);
      }
      group[i].path_end = static_cast<int>(nodes_.size());
    }
    const int64_t end = sampled_ + rounded(nodes_.size(), W);
    labels_.resize(end);
    if (z_.size() < labels_.size() + W) z_.resize(labels_.size() + W);
    for (int i = 0; i < kGroup; ++i) {
      const int path = group[i].path, length = group[i].path_end - path;
      const float* hidden = group[i].hidden;
      score(&hidden, 1, nodes_.data() + path, length, N, &z_[sampled_ + path], 0);
    }
    return static_cast<int>(end);
  }

  void update_group(const Position* group) const {
    for (int i = 0; i < kGroup && o.hierarchical; ++i)
      slices<kSlice>(N, [&](auto L, int64_t d) { update_path<L>(group[i], dh_ + i * S + d, d); });
    for (int k = 0; k < K; k += kChunk)
      with_constant<kChunk>(K - k, [&](auto C) {
        if constexpr (C > 0) {
          if (k || o.hierarchical)
            update<C, false>(group, k);
          else
            update<C, true>(group, k);
        }
      });
    for (int i = 0; i < kGroup; ++i) finish(group[i], K ? z_[i * ld + K] : 0.f, dh_ + i * S);
  }

  // What the nodes of a position gain, and its hidden layer by them.
  template <int L>
  void update_path(const Position& at, float* gain, int64_t d) const {
    Vector h[L], dh[L];
    repeat<L>([&](auto l) { h[l] = load(at.hidden + d + l * W), dh[l] = Vector{}; });
    for (int e = at.path; e < at.path_end; ++e) {
      float* y = nodes_[e] + d;
      const Vector z = all(z_[sampled_ + e]);
      repeat<L>([&](auto l) {
        const Vector before = load(y + l * W);
        dh[l] += z * before;
        store(y + l * W, before + z * h[l]);
      });
    }
    repeat<L>([&](auto l) { store(gain + l * W, dh[l]); });
  }

  // What C negatives of a group gain, and its hidden layers by them.
  template <int C, bool is_first>
  void update(const Position* group, int k) const {
    const float* hidden = group->hidden;
    float *gain = dh_, *y[C];
    Vector z[kGroup][C];
    repeat<C>([&](auto c) {
      y[c] = y_[k + c];
      repeat<kGroup>([&](auto i) { z[i][c] = all(z_[i * ld + k + c]); });
    });
    for (int64_t d = 0, end = used, stride = S; d < end; d += W) {
      Vector h[kGroup], dh[kGroup];
      repeat<kGroup>([&](auto i) {
        h[i] = load(hidden + i * stride + d);
        dh[i] = is_first ? Vector{} : load(gain + i * stride + d);
      });
      repeat<C>([&](auto c) {
        const Vector before = load(y[c] + d);
        Vector after = before;
        repeat<kGroup>([&](auto i) {
          dh[i] += z[i][c] * before;
          after += z[i][c] * h[i];
        });
        store(y[c] + d, after);
      });
      repeat<kGroup>([&](auto i) { store(gain + i * stride + d, dh[i]); });
    }
  }

  // What a position's target gains; and what the words of its window do, at the window's ends.
  void finish(const Position& at, float z, const float* gain) const {
    const float share = at.share;
    float *hidden = at.hidden, *target = at.target, *low = gains_ + at.low, *high = gains_ + at.high;
    for (int64_t d = 0, end = used; d < end; d += W) {
      const Vector before = load(target + d);
      const Vector of_word = share * (load(gain + d) + z * before);
      store(target + d, before + z * load(hidden + d));
      store(hidden + d, of_word);
      store(low + d, load(low + d) + of_word);
      store(high + d, load(high + d) - of_word);
    }
  }

  // Adds to the windows' inputs what they have gained, and leaves gains_ empty.
  template <int L>
  void add_gains(int64_t p, int nb, int64_t d) {
    Vector sum[L] = {};
    for (int j = 0; j <= rows_; ++j) {
      float* gains = gains_ + j * S + d;
      for (int l = 0; l < L; ++l) {
        sum[l] += load(gains + l * W);
        store(gains + l * W, Vector{});
      }
      if (j == rows_) break;
      const int32_t row = u.inputs[low_ + j];
      const int64_t i = low_ + j - p;  // its own window is not for it
      const float* own = (i >= 0 && i < nb ? position_of_[i]->hidden : nowhere_) + d;
      float* x = input(row) + d;
      const float factor = locked(row);
      for (int l = 0; l < L; ++l)
        store(x + l * W, load(x + l * W) + factor * (sum[l] - load(own + l * W)));
    }
  }

  const Tfw2vOptions alone_;
  CbowWindows windows_;
  const int B, K, ld;  // ld: scores of a position
  const int64_t S, used, w;
  int64_t low_ = 0;
  int rows_ = 0;
  std::vector<Position> positions_;
  std::vector<const Position*> position_of_;  // each of the block's tokens
  const int sampled_;  // scores of a group with outputs
  std::vector<float*> y_, nodes_;
  std::vector<int64_t> wild_;  // positions
  std::vector<float> z_, labels_, times_;
  std::vector<int32_t> drawn_;
  Buffer buffers_[6];
  float *prefix_, *gains_, *hidden_, *dh_, *lanes_, *nowhere_;
};

}  // namespace TFW2V_ISA
}  // namespace tfw2v
