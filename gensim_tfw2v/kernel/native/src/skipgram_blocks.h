// Skip-gram with negative sampling (trainer.h) in blocks whose pairs share C negatives y_k (Ji et al. 2016,
// "Parallelizing Word2Vec in Shared and Distributed Memory", section 4). Input x_i of a block and centre c,
// not i itself, are a pair if i is in the window of c; P_i is the number of pairs of i.
//   loss = sum over pairs (i, c) of softplus(-x_i . y_c) + (K / C) sum_k softplus(x_i . y_k)
//   g_ic = alpha sigmoid(-x_i . y_c),  g_ik = -alpha (K / C) P_i sigmoid(x_i . y_k)
//   dx_i = lock_i (sum_c g_ic y_c + sum_k g_ik y_k),  dy_c = sum_i g_ic x_i,  dy_k = sum_i g_ik x_i
// g is 0 where abs(score) >= 6 (Trainer::coefficients). With skip_targets or shards, select() replaces
// (K / C) P_i. All updates of a block are computed from the rows at its start, and are sums, not means. An
// input that occurs often in a block would overshoot, so such a block is trained in parts.
#pragma once

#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "block.h"
#include "ledger.h"
#include "skipgram_windows.h"

namespace tfw2v::TFW2V_ISA {

// Trains blocks of B consecutive inputs. A block is halved until no input occurs more than `o.repeats` times
// in a part. A part whose mean abs(score) is above 8 is retrained window by window.
class SkipgramBlocks : Trainer {
 public:
  SkipgramBlocks(const UnitRows& unit, const float alphas[2], Tfw2vResult& result)
      : Trainer(unit, alphas, result), alone_(alone(o)), windows_({alone_, u, t}, alphas, result, true),
        B(o.block), C(o.shared), Cr(static_cast<int>(rounded(C, W))), w(o.window),
        capacity(std::min<int64_t>(2 * int64_t{w}, n)),
        halo(std::min<int64_t>(B + 2 * int64_t{w}, n + 1)),
        most(halo * rounded(std::min(B, 2 * w + 1), 4) + 2 * W), begins_(halo), pairs_(B), x_(B),
        dx_(B), y_(C), used_(Cr), lists_(B * capacity), columns_(B * capacity),
        products_(N, t.size, S, B, C), x_rows_((B + 3) * S), dx_rows_(B * S), g_(int64_t{B} * Cr),
        weights_(int64_t{B} * Cr), gc_(most + B), weights_c_(most + B) {
    std::fill_n(used_.begin(), C, 1.f);
    for (int i = 0; i < B; ++i) {
      x_[i] = x_rows_ + i * S;
      dx_[i] = dx_rows_ + i * S;
    }
  }

  // Trains the block of positions [p, p + B). With `ledger`, records the updates instead of applying them. If
  // the block's scores are out of range, or an input occurs too often, it adds only p to ledger->retry. To do
  // so less often, because one thread retrains the blocks, inputs may then occur twice as often.
  void block(int64_t p, bool with_loss, Ledger* ledger = nullptr) {
    const int nb = size(p);
    if (!ledger) return parts(p, nb, with_loss);
    if (occurrences(p, nb) > 2 * o.repeats) return ledger->retry.push_back(p);
    part(p, nb, with_loss, ledger);
  }

  // Trains a block that block() has added to ledger->retry. By windows, its pairs are not quite the same.
  void retrain(int64_t p, bool with_loss) {
    const int nb = size(p);
    if (occurrences(p, nb) > 2 * o.repeats) return parts(p, nb, with_loss);
    windows_.positions(p, p + nb, with_loss);
  }

  Sums take() { return Trainer::take() += windows_.take(); }
  std::unique_ptr<Ledger> ledger() const { return std::make_unique<Ledger>(B + C + halo, S); }
  using Trainer::add;

 private:
  // Number of positions in the block from p on.
  int size(int64_t p) const {
    return static_cast<int>(std::clamp<int64_t>(n - tag_pairs - p, 0, B));
  }

  // Number of occurrences of the most frequent input among positions [p, p + nb).
  int occurrences(int64_t p, int nb) const {
    const int32_t* inputs = u.inputs.data + p;
    int most = 0;
    for (int i = 0; i < nb; ++i) {
      int same = 0;
      for (int j = 0; j < nb; ++j) same += inputs[j] == inputs[i];
      most = std::max(most, same);
    }
    return most;
  }

  // Trains positions [p, p + nb) in parts.
  void parts(int64_t p, int nb, bool with_loss) {
    if (occurrences(p, nb) <= o.repeats) return part(p, nb, with_loss, nullptr);
    parts(p, nb / 2, with_loss);
    parts(p + nb / 2, nb - nb / 2, with_loss);
  }

  // Trains positions [p, p + nb) of one block from the rows as they are.
  void part(int64_t p, int nb, bool with_loss, Ledger* ledger) {
    if (!nb) return;
    const int64_t low = std::max<int64_t>(0, p - w), high = std::min<int64_t>(n, p + nb + w);
    for (int i = 0; i < nb; ++i) {
      std::memcpy(x_rows_ + i * S, input(u.inputs[p + i]), S * sizeof(float));
      pairs_[i] = 0;
    }
    for (int k = 0; k < C; ++k) y_[k] = output(u.negatives[p / B * C + k]);
    std::memset(dx_rows_, 0, nb * S * sizeof(float));
    const float a = alpha(p / B * B);
    centres(p, nb, low, high, a, with_loss);
    negatives(p, nb, low, high, a, with_loss);
    const int64_t pairs = std::accumulate(pairs_.begin(), pairs_.begin() + nb, int64_t{0});
    if (!in_range(pairs + nb * C, true))
      return ledger ? ledger->retry.push_back(p) : windows_.positions(p, p + nb, with_loss);
    if (with_loss) predicted(pairs);
    products_.to_inputs<false>(g_, nb, y_.data(), C, Cr, dx_.data());
    for (int i = 0; i < nb; ++i)
      weighted_sum(&lists_[i * capacity], 0, 1, &columns_[i * capacity], pairs_[i], &dx_[i], 1, N);
    dispatch_bool(ledger, [&](auto begin) { change<begin>(p, nb, low, high, ledger); });
  }

  // Updates rows in place or, if `begin`, writes the updates to `ledger`.
  template <bool begin>
  void change(int64_t p, int nb, int64_t low, int64_t high, Ledger* ledger) {
    const auto target = [=](float* row) { return begin ? ledger->record(row) : row; };
    if (o.learn_hidden) {
      for (int k = 0; k < C; ++k) y_[k] = target(y_[k]);
      products_.to_outputs<begin>(g_, nb, x_.data(), C, Cr, y_.data());
    }
    for (int64_t c = low; c < high && o.learn_hidden; ++c) {
      const auto [first, last] = reached(c, p, nb);
      if (first >= last) continue;
      float* row = target(output(u.targets[c]));
      const float* g = gc_ + begins_[c - low];
      weighted_sum<Single, begin>(g, 0, 1, x_.data() + first, last - first, &row, 1, N);
    }
    for (int i = 0; i < nb; ++i) {
      const int32_t id = u.inputs[p + i];
      add<begin>(target(input(id)), dx_[i], locked(id));
    }
  }

  // Options of windows_: only negative sampling, one pair at a time.
  static Tfw2vOptions alone(Tfw2vOptions options) {
    options.hierarchical = 0;  // train() in kernel.cc trains it separately
    options.sequential = options.group = options.span = 1;
    return options;
  }

  // Indices in the block, [first, last), of the inputs in the window of a centre. May include the centre.
  std::pair<int, int> reached(int64_t c, int64_t p, int nb) const {
    return {static_cast<int>(std::max<int64_t>(0, c - u.reaches[2 * c] - p)),
            static_cast<int>(std::min<int64_t>(nb, c + u.reaches[2 * c + 1] + 1 - p))};
  }

  // Prefetches rows of the next block: its j-th input, the output of its j-th new centre, and every B-th of
  // its negatives from the j-th on. Called once per centre, because the processor can queue few outstanding
  // loads.
  void prefetch_next(int64_t next, int64_t high, int j) const {
    if (next + j < n) prefetch(input(u.inputs[next + j]), S);
    if (high + j < n) prefetch(output(u.targets[high + j]), S);
    if (next < n)
      for (int k = j; k < C; k += B) prefetch(output(u.negatives[next / B * C + k]), S);
  }

  // Computes g_ic of all pairs, centre by centre, in gc_. Then lists them by input in lists_ and columns_.
  void centres(int64_t p, int nb, int64_t low, int64_t high, float a, bool with_loss) {
    int64_t end = 0;
    for (int64_t c = low; c < high; ++c) {
      if (c - low < B) prefetch_next(p + nb, high, static_cast<int>(c - low));
      const auto [first, last] = reached(c, p, nb);
      const float* y = output(u.targets[c]);
      begins_[c - low] = end;
      if (first >= last) continue;
      score_run(y, x_[first], S, last - first, N, &gc_[end]);
      std::fill_n(&weights_c_[end], last - first, 1.f);
      if (c >= p && c < p + nb) weights_c_[end + c - p - first] = 0.f;
      for (end += last - first; end % 4; ++end) weights_c_[end] = 0.f;
    }
    for (int64_t j = end; j < rounded(end, W); ++j) gc_[j] = weights_c_[j] = 0.f;
    coefficients(gc_, weights_c_, static_cast<int>(rounded(end, W)), a, gc_, with_loss);
    float* lists = lists_.data();  // local copies: not reloaded after each store
    const float** columns = columns_.data();
    int* pairs = pairs_.data();
    for (int64_t c = low; c < high; ++c) {
      const auto [first, last] = reached(c, p, nb);
      const float *g = gc_ + begins_[c - low], *y = output(u.targets[c]);
      for (int i = first; i < last; ++i) {
        if (p + i == c) continue;
        const int64_t index = i * capacity + pairs[i]++;
        lists[index] = g[i - first];
        columns[index] = y;
      }
    }
  }

  // Computes g_ik of all inputs and negatives, in g_.
  void negatives(int64_t p, int nb, int64_t low, int64_t high, float a, bool with_loss) {
    // Each of the C negatives counts K / C times per pair: K in expectation (Ji et al. 2016, section 4).
    const float scale = static_cast<float>(o.negative) / C;
    for (int i = 0; i < nb; ++i) {
      float* weights = weights_ + i * Cr;
      for (int k = 0; k < Cr; k += W)
        store(weights + k, load(used_.data() + k) * (-scale * pairs_[i]));
    }
    if (o.skip_targets || o.shards > 1) select(p, nb, low, high, scale);
    products_.scores(x_.data(), nb, y_.data(), C, g_, Cr);
    coefficients(g_, weights_, nb * Cr, a, g_, with_loss);
  }

  // Sets weights_ if a pair's negatives depend on its centre. With shards, each of a shard's m negatives has
  // weight K / m. With skip_targets, negatives equal to the centre's target are left out.
  void select(int64_t p, int nb, int64_t low, int64_t high, float scale) {
    for (int i = 0; i < nb; ++i) std::fill_n(weights_ + i * Cr, C, 0.f);
    for (int64_t c = low; c < high; ++c) {
      const auto [first, last] = reached(c, p, nb);
      const Noise from = noise(p / B, c);
      for (int j = 0; j < from.number; ++j) {
        if (o.skip_targets && from[j] == u.targets[c]) continue;
        for (int i = first; i < last; ++i)
          if (p + i != c) weights_[i * Cr + from.column(j)] -= scale * C / from.number;
      }
    }
  }

  const Tfw2vOptions alone_;  // windows_ refers to it: do not move this object
  SkipgramWindows windows_;
  const int B, C, Cr, w;
  const int64_t capacity, halo, most;  // maximum number of pairs per input; of centres; of their scores
  // begins_   [halo] index in gc_ of each centre's first score
  // pairs_    [B] P_i
  // x_, dx_   [B] rows of x_rows_ and dx_rows_
  // y_        [C] rows of the block's negatives, or their updates in the ledger during change()
  // used_     [Cr] 1 per negative, then 0
  // lists_    [B, capacity] g_ic of each input's pairs; only the first P_i are set
  // columns_  [B, capacity] y_c of each input's pairs, likewise
  std::vector<int64_t> begins_;
  std::vector<int> pairs_;
  std::vector<float*> x_, dx_, y_;
  std::vector<float> used_, lists_;
  std::vector<const float*> columns_;
  BlockProducts products_;
  // x_rows_     [B + 3, S] copies of the inputs; score_run() may read 3 rows after the last
  // dx_rows_    [B, S] dx, without lock
  // g_          [B, Cr] z_ik, then g_ik
  // weights_    [B, Cr] weights of g_; 0 from column C on
  // gc_         [most + B] z_ic, then g_ic. Scores of each centre begin at an index that is a multiple of 4
  // weights_c_  [most + B] weights of gc_: 1, or 0 for a centre with itself and for padding
  Buffer x_rows_, dx_rows_, g_, weights_, gc_, weights_c_;
};

}  // namespace tfw2v::TFW2V_ISA
