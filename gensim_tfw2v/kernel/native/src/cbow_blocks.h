// CBOW, block after block.
#pragma once

#include "cbow_windows.h"

namespace tfw2v {
namespace TFW2V_ISA {

// Calls `use` with a number from 0 to `most` as a constant.
template <int most, class Use>
static inline void with_constant(int number, Use use) {
  if constexpr (most > 0)
    if (number < most) return with_constant<most - 1>(number, use);
  use(std::integral_constant<int, most>());
}

// The scores of a block are computed before any row changes; then outputs are updated group after
// group: four positions, which share K negatives, and lie apart, for the hidden layers of neighbours
// are alike and would push a negative the same way. No processor can guess the end of a loop over a
// window: so the sum of a window is the difference of two prefix sums, and what its words gain is
// noted at its two ends, and summed up once a block. All is done slice by slice of the rows, as much
// as the nearest cache holds. A block whose scores are wild is trained window by window.
class CbowBlocks : Trainer {
 public:
  CbowBlocks(const Tfw2vOptions& options, const Tfw2vDraws& draws, const Tfw2vTables& tables,
             const float alphas[2], Tfw2vResult& result)
      : Trainer(options, draws, tables, alphas, result),
        alone_(one_by_one(options)), windows_(alone_, draws, tables, alphas, result),
        B(o.block), K(o.negative), ld(K ? static_cast<int>(rounded(K + 1, (W + 3) / 4)) : 0),
        S(t.stride), used(int64_t{N} * W),
        width(rounded((used - 1) / ((used + kWidth - 1) / kWidth) + 1, 16)),
        w(std::min<int64_t>(o.window, u.kept)), positions_(rounded(B, kGroup)), hidden_of_(B),
        y_(positions_.size() / kGroup * K), z_(positions_.size() * ld), labels_(z_.size()),
        times_(K), drawn_(K) {
    const int64_t rows = B + 2 * w + 1;
    prefix_ = zeros(0, rows * width);
    gains_ = zeros(1, rows * width);
    hidden_ = zeros(2, positions_.size() * S);
    dh_ = zeros(3, kGroup * width);
    lanes_ = zeros(4, z_.size() * W);
    nowhere_ = zeros(5, S);
  }

  void block(int64_t p, bool with_loss) {
    const int nb = static_cast<int>(std::min<int64_t>(B, u.kept - p));
    const int groups = (nb + kGroup - 1) / kGroup;
    const int predictions = place(p, nb);
    for (int g = 0; g < groups && K; ++g) choose_negatives(p, g);
    for (int64_t d = 0; d < used; d += width) {
      const int64_t end = std::min(used, d + width);
      slices<kSums>((end - d) / W, [&](auto L, int64_t from) { sum_up<L>(d, from); });
      for (int g = 0; g < groups; ++g) {
        if (d == 0) look_ahead(p + B, g * kGroup);
        score_group(g, d, end);
      }
    }
    const int sampled = groups * kGroup * ld;
    for (int c = 0; c < sampled; c += W)
      store(&z_[c], sums(reinterpret_cast<const Vector*>(lanes_) + c));
    const int columns = o.hierarchical ? score_paths(groups * kGroup, sampled) : sampled;
    coefficients(z_.data(), labels_.data(), columns, alpha(p), z_.data(), with_loss);
    const int scores = predictions * (K ? K + 1 : 0) + positions_[groups * kGroup - 1].path_end;
    if (!sane(scores, true)) return windows_.block(p, with_loss);
    if (with_loss) result.predictions += predictions;
    for (int64_t d = 0; d < used; d += width) {
      const int64_t end = std::min(used, d + width);
      for (int g = 0; g < groups; ++g) update_group(g, d, end);
      slices<kSums>((end - d) / W, [&](auto L, int64_t from) { add_gains<L>(p, nb, d, from); });
    }
  }

 private:
  // Positions of a group, negatives that registers have room for, and vectors of sums.
  static constexpr int kGroup = 4, kChunk = 5, kSums = 7;
  static constexpr int64_t kWidth = 128;  // numbers of a slice, at most

  struct Position {
    int64_t low, high;    // where its window begins and ends: floats from prefix_ on
    const float* x;       // its own input, which is not of its window
    float* target;
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

  // Finds the windows of a block, which begin at low_: how many predict.
  int place(int64_t p, int nb) {
    int64_t high = low_ = p;
    for (int64_t a = p; a < p + nb; ++a) {
      low_ = std::min(low_, a - u.reaches[2 * a]);
      high = std::max(high, a + u.reaches[2 * a + 1] + 1);
    }
    rows_ = static_cast<int>(high - low_);
    int predictions = 0;
    const int groups = (nb + kGroup - 1) / kGroup;
    for (int i = 0; i < groups * kGroup; ++i) {
      const int at = i % kGroup * groups + i / kGroup;  // in the block
      const int64_t a = p + std::min(at, nb - 1);
      const int before = u.reaches[2 * a], after = u.reaches[2 * a + 1];
      const bool real = at < nb && before + after;
      if (at < nb) hidden_of_[at] = hidden_ + i * S;
      const float part = real ? 1.f / count(a) : 1.f;
      positions_[i] = {(a - before - low_) * width, (a + after + 1 - low_) * width, input(u.inputs[a]),
                       K && real ? output(u.targets[a]) : nowhere_, o.mean ? part : 1.f,
                       o.mean == o.corrected ? part : 1.f, static_cast<float>(real), a, 0, 0};
      predictions += real;
    }
    return predictions;
  }

  // Prefix sums of the windows' inputs.
  template <int L>
  void sum_up(int64_t begin, int64_t from) {
    Vector sum[L] = {};
    for (int j = 0; j < rows_; ++j) {
      const float* x = input(u.inputs[low_ + j]) + begin + from;
      float* after = prefix_ + (j + 1) * width + from;
      for (int l = 0; l < L; ++l) store(after + l * W, sum[l] += load(x + l * W));
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

  // The next K of a block's negatives, and which of them count for each position of a group. Of
  // those that are in registers together, one that is there twice counts for both.
  void choose_negatives(int64_t p, int g) {
    const int32_t* negatives = u.negatives + p / B * o.shared;
    float** y = y_.data() + g * K;
    int at = static_cast<int>(int64_t{g} * K % o.shared);
    for (int k = 0; k < K; ++k) {
      drawn_[k] = negatives[at];
      y[k] = output(drawn_[k]);
      times_[k] = -1.f;
      if (++at == o.shared) at = 0;
      for (int b = k / kChunk * kChunk; b < k; ++b)
        if (drawn_[b] == drawn_[k] && times_[b] != 0.f) {
          times_[b] += times_[k];
          times_[k] = 0.f;
          y[k] = nowhere_;
        }
    }
    for (int i = g * kGroup; i < (g + 1) * kGroup; ++i) {
      float* labels = labels_.data() + i * ld;
      for (int k = 0; k < K; ++k) labels[k] = positions_[i].real * times_[k];
      labels[K] = positions_[i].real;
      if (!o.skip_targets || labels[K] == 0.f) continue;
      for (int k = 0; k < K; ++k)
        if (drawn_[k] == u.targets[positions_[i].token]) labels[k] = 0.f;
    }
  }

  void score_group(int g, int64_t begin, int64_t end) {
    constexpr int R = W == 16 ? 4 : 2;
    for (int i = 0; i < kGroup; i += R)
      for (int k = 0; k == 0 || k < K; k += kChunk)
        with_constant<kChunk>(K - k, [&](auto C) {
          k ? score<R, C, false>(g, i, k, begin, end) : score<R, C, true>(g, i, k, begin, end);
        });
  }

  // Lanes of the scores of R positions with C negatives; the first time, also their hidden layers,
  // and the scores of their targets.
  template <int R, int C, bool is_first>
  void score(int g, int i, int k, int64_t begin, int64_t end) {
    const float *y[C + 1], *high[R], *low[R], *x[R], *target[R];
    float *hidden[R], *lanes[R], factor[R];
    for (int c = 0; c < C; ++c) y[c] = y_[g * K + k + c];
    Vector sum[R][C + 1] = {}, h[R];
    for (int r = 0; r < R; ++r) {
      const Position& at = positions_[g * kGroup + i + r];
      high[r] = prefix_ + at.high - begin;
      low[r] = prefix_ + at.low - begin;
      x[r] = at.x;
      target[r] = at.target;
      factor[r] = at.factor;
      hidden[r] = hidden_ + (g * kGroup + i + r) * S;
      lanes[r] = lanes_ + (g * kGroup + i + r) * ld * W;
      if (begin == 0) continue;
      for (int c = 0; c < C; ++c) sum[r][c] = load(lanes[r] + (k + c) * W);
      if (C && is_first) sum[r][C] = load(lanes[r] + K * W);
    }
    for (int64_t d = begin; d < end; d += W) {
      for (int r = 0; r < R; ++r) {
        if constexpr (is_first) {
          h[r] = factor[r] * (load(high[r] + d) - load(low[r] + d) - load(x[r] + d));
          store(hidden[r] + d, h[r]);
          if (C) sum[r][C] += h[r] * load(target[r] + d);
        } else {
          h[r] = load(hidden[r] + d);
        }
      }
      for (int c = 0; c < C; ++c) {
        const Vector v = load(y[c] + d);
        for (int r = 0; r < R; ++r) sum[r][c] += h[r] * v;
      }
    }
    for (int r = 0; r < R; ++r) {
      for (int c = 0; c < C; ++c) store(lanes[r] + (k + c) * W, sum[r][c]);
      if (C && is_first) store(lanes[r] + K * W, sum[r][C]);
    }
  }

  // Scores of all positions with the nodes of their paths, from z_[first] on: where they end.
  int score_paths(int positions, int first) {
    nodes_.clear();
    owners_.clear();
    labels_.resize(first);
    for (int i = 0; i < positions; ++i) {
      const int64_t a = positions_[i].token;
      positions_[i].path = static_cast<int>(nodes_.size());
      for (int32_t k = path_begin(a); positions_[i].real && k < path_end(a); ++k) {
        nodes_.push_back(node(u.paths.entries[k] / 2));
        owners_.push_back(hidden_ + i * S);
        labels_.push_back(u.paths.entries[k] % 2 ? -1.f : 1.f);
      }
      positions_[i].path_end = static_cast<int>(nodes_.size());
    }
    const int64_t number = rounded(nodes_.size(), W);
    nodes_.resize(number, nowhere_);
    owners_.resize(number, nowhere_);
    labels_.resize(first + number);
    if (z_.size() < labels_.size()) z_.resize(labels_.size());
    for (int64_t c = 0; c < number; c += W) {
      alignas(64) Vector lanes[W];
      for (int e = 0; e < W; e += 4) {
        Vector sum[4] = {};
        for (int64_t d = 0; d < used; d += W)
          for (int r = 0; r < 4; ++r)
            sum[r] += load(owners_[c + e + r] + d) * load(nodes_[c + e + r] + d);
        for (int r = 0; r < 4; ++r) lanes[e + r] = sum[r];
      }
      store(&z_[first + c], sums(lanes));
    }
    path_scores_ = z_.data() + first;
    return static_cast<int>(first + number);
  }

  void update_group(int g, int64_t begin, int64_t end) const {
    for (int i = 0; i < kGroup && o.hierarchical; ++i)
      slices<kSums>((end - begin) / W, [&](auto L, int64_t d) {
        update_path<L>(g * kGroup + i, dh_ + i * width + d, begin + d);
      });
    for (int k = 0; k < K; k += kChunk)
      with_constant<kChunk>(K - k, [&](auto C) {
        if constexpr (C > 0) {
          if (k || o.hierarchical)
            update<C, false>(g, k, begin, end);
          else
            update<C, true>(g, k, begin, end);
        }
      });
    for (int i = 0; i < kGroup; ++i) finish(g * kGroup + i, dh_ + i * width, begin, end);
  }

  // What the nodes of a position gain, and its hidden layer by them.
  template <int L>
  void update_path(int i, float* gain, int64_t d) const {
    const float* hidden = hidden_ + i * S + d;
    Vector dh[L] = {};
    for (int e = positions_[i].path; e < positions_[i].path_end; ++e) {
      float* y = nodes_[e] + d;
      const float z = path_scores_[e];
      for (int l = 0; l < L; ++l) {
        const Vector before = load(y + l * W);
        dh[l] += z * before;
        store(y + l * W, before + z * load(hidden + l * W));
      }
    }
    for (int l = 0; l < L; ++l) store(gain + l * W, dh[l]);
  }

  // What C negatives of a group gain, and its hidden layers by them.
  template <int C, bool is_first>
  void update(int g, int k, int64_t begin, int64_t end) const {
    const float* hidden = hidden_ + g * kGroup * S + begin;
    const int64_t wide = width;
    float *gain = dh_, *y[C];
    Vector z[kGroup][C];
    for (int c = 0; c < C; ++c) {
      y[c] = y_[g * K + k + c] + begin;
      for (int i = 0; i < kGroup; ++i) z[i][c] = all(z_[(g * kGroup + i) * ld + k + c]);
    }
    for (int64_t d = 0, size = end - begin, stride = S; d < size; d += W) {
      Vector h[kGroup], dh[kGroup];
      for (int i = 0; i < kGroup; ++i) {
        h[i] = load(hidden + i * stride + d);
        dh[i] = is_first ? Vector{} : load(gain + i * wide + d);
      }
      for (int c = 0; c < C; ++c) {
        const Vector before = load(y[c] + d);
        Vector after = before;
        for (int i = 0; i < kGroup; ++i) {
          dh[i] += z[i][c] * before;
          after += z[i][c] * h[i];
        }
        store(y[c] + d, after);
      }
      for (int i = 0; i < kGroup; ++i) store(gain + i * wide + d, dh[i]);
    }
  }

  // What a position's target gains; and what the words of its window do, at the window's ends.
  void finish(int i, const float* gain, int64_t begin, int64_t end) const {
    const Position& at = positions_[i];
    const float z = K ? z_[i * ld + K] : 0.f, share = at.share;
    float *hidden = hidden_ + i * S + begin, *target = at.target + begin;
    float *low = gains_ + at.low, *high = gains_ + at.high;
    for (int64_t d = 0, size = end - begin; d < size; d += W) {
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
  void add_gains(int64_t p, int nb, int64_t begin, int64_t from) {
    Vector sum[L] = {};
    for (int j = 0; j <= rows_; ++j) {
      float* gains = gains_ + j * width + from;
      for (int l = 0; l < L; ++l) {
        sum[l] += load(gains + l * W);
        store(gains + l * W, Vector{});
      }
      if (j == rows_) break;
      const int32_t row = u.inputs[low_ + j];
      const int64_t i = low_ + j - p;  // its own window is not for it
      const float* own = (i >= 0 && i < nb ? hidden_of_[i] : nowhere_) + begin + from;
      float* x = input(row) + begin + from;
      const float factor = locked(row);
      for (int l = 0; l < L; ++l)
        store(x + l * W, load(x + l * W) + factor * (sum[l] - load(own + l * W)));
    }
  }

  const Tfw2vOptions alone_;
  CbowWindows windows_;
  const int B, K, ld;  // ld: scores of a position
  const int64_t S, used, width, w;
  int64_t low_ = 0;
  int rows_ = 0;
  std::vector<Position> positions_;
  std::vector<const float*> hidden_of_;  // each of the block's tokens
  std::vector<float*> y_, nodes_;
  std::vector<const float*> owners_;  // hidden layers of nodes
  std::vector<float> z_, labels_, times_;
  std::vector<int32_t> drawn_;
  const float* path_scores_ = nullptr;
  Buffer buffers_[6];
  float *prefix_, *gains_, *hidden_, *dh_, *lanes_, *nowhere_;
};

}  // namespace TFW2V_ISA
}  // namespace tfw2v
