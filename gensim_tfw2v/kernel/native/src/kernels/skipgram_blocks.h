// Skip-gram with negative sampling (trainer.h) in blocks whose pairs share Kn negatives y_k (Ji et al. 2016,
// "Parallelizing Word2Vec in Shared and Distributed Memory", section 4). Input x_i of a block and centre c,
// not i itself, are a pair if i is in the window of c; P_i is the number of pairs of i.
//   loss = sum over pairs (i, c) of softplus(-x_i . y_c) + (K / Kn) sum_k softplus(x_i . y_k)
//   g_ic = alpha sigmoid(-x_i . y_c),  g_ik = -alpha (K / Kn) P_i sigmoid(x_i . y_k)
//   dx_i = lock_i (sum_c g_ic y_c + sum_k g_ik y_k),  dy_c = sum_i g_ic x_i,  dy_k = sum_i g_ik x_i
// g is 0 where abs(score) >= 6 (Trainer::coefficients). With several shards or skip_targets, select() replaces
// (K / Kn) P_i by a sum over the pairs (i, c): K / m if y_k is one of the m negatives in the shard of c, else 0. With
// skip_targets, the term is also 0 if y_k = y_c.
// All updates of a block are computed from the rows at its start, and are sums, not means. An input that occurs often
// in a block would overshoot, so such a block is trained in parts.
#pragma once

#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "kernels/block.h"
#include "kernels/ledger.h"
#include "kernels/skipgram_windows.h"

namespace tfw2v::TFW2V_ISA {

// Trains blocks of B consecutive inputs. A block is halved until no input occurs more than `o.repeats` times
// in a part. A part whose mean abs(score) is above 8 is retrained window by window.
class SkipgramBlocks : Trainer {
 public:
  SkipgramBlocks(const UnitRows& unit, const float alphas[2], Tfw2vResult& result)
      : Trainer(unit, alphas, result), window_options_(window_options(o)),
        windows_({window_options_, u, t}, alphas, result, true), B(o.block), Kn(o.shared),
        ld(static_cast<int>(rounded(Kn, W))), w(o.window), max_pairs(pair_limit()), max_centres(centre_limit()),
        max_scores(score_limit()), products_(n_vectors, t.size, stride, B, Kn) {
    begins_.resize(max_centres);
    n_pairs_.resize(B);
    x_.resize(B);
    dx_.resize(B);
    y_.resize(Kn);
    used_.resize(ld);
    lists_.resize(B * max_pairs);
    columns_.resize(B * max_pairs);
    x_rows_.of((B + kRunRows - 1) * stride);
    dx_rows_.of(B * stride);
    g_.of(int64_t{B} * ld);
    weights_.of(int64_t{B} * ld);
    gc_.of(max_scores);
    weights_c_.of(max_scores);
    std::fill_n(used_.begin(), Kn, 1.f);
    for (int i = 0; i < B; ++i) {
      x_[i] = x_rows_ + i * stride;
      dx_[i] = dx_rows_ + i * stride;
    }
  }

  // Trains the block of positions [p, p + B). With `ledger`, records the updates instead of applying them. If
  // the block's scores are out of range, or an input occurs too often, records no update, but adds p to
  // ledger->retry. A single thread retrains such blocks, so with `ledger` twice as many occurrences are allowed.
  void block(int64_t p, bool with_loss, Ledger* ledger = nullptr) {
    const int nb = size(p);
    if (!ledger) return train_parts(p, nb, with_loss);
    if (occurrences(p, nb) > 2 * o.repeats) return ledger->retry.push_back(p);
    train_part(p, nb, with_loss, ledger);
  }

  // Trains a block that block() has added to ledger->retry. If it is trained by windows, its pairs are those with a
  // centre in the block, instead of those with an input in the block.
  void retrain(int64_t p, bool with_loss) {
    const int nb = size(p);
    if (occurrences(p, nb) > 2 * o.repeats) return train_parts(p, nb, with_loss);
    windows_.positions(p, p + nb, with_loss);
  }

  Sums take() { return Trainer::take() += windows_.take(); }
  // A block changes its inputs, its negatives and the outputs of its centres.
  std::unique_ptr<Ledger> ledger() const { return std::make_unique<Ledger>(B + Kn + max_centres, stride); }
  using Trainer::add;

 private:
  // Maximum number of pairs of an input: all other positions of its window, in a unit of n positions.
  int64_t pair_limit() const { return std::min<int64_t>(2 * int64_t{w}, n); }
  // Maximum number of centres of a block, which are the positions of the block and of its halo.
  int64_t centre_limit() const { return std::min<int64_t>(B + 2 * int64_t{w}, n + 1); }
  // Maximum number of floats of gc_: the scores of each centre, padded to a multiple of kRunRows, those that
  // score_run() writes after the last, and padding to a multiple of W.
  int64_t score_limit() const {
    return max_centres * rounded(std::min<int64_t>(B, 2 * int64_t{w} + 1), kRunRows) + 2 * W;
  }

  // Number of positions in the block from p on.
  int size(int64_t p) const { return static_cast<int>(std::clamp<int64_t>(n - n_tag_pairs - p, 0, B)); }

  // Number of occurrences of the most frequent input among positions [p, p + nb).
  int occurrences(int64_t p, int nb) const {
    const int32_t* inputs = u.inputs.data + p;
    int max_count = 0;
    for (int i = 0; i < nb; ++i) {
      int count = 0;
      for (int j = 0; j < nb; ++j) count += inputs[j] == inputs[i];
      max_count = std::max(max_count, count);
    }
    return max_count;
  }

  // Trains positions [p, p + nb) in parts.
  void train_parts(int64_t p, int nb, bool with_loss) {
    if (occurrences(p, nb) <= o.repeats) return train_part(p, nb, with_loss, nullptr);
    train_parts(p, nb / 2, with_loss);
    train_parts(p + nb / 2, nb - nb / 2, with_loss);
  }

  // Trains positions [p, p + nb) of one block from the rows as they are.
  void train_part(int64_t p, int nb, bool with_loss, Ledger* ledger) {
    if (!nb) return;
    const int64_t low = std::max<int64_t>(0, p - w), high = std::min<int64_t>(n, p + nb + w);
    TFW2V_ASSERT(nb <= B && high - low <= max_centres);
    for (int i = 0; i < nb; ++i) {
      std::memcpy(x_rows_ + i * stride, input(u.inputs[p + i]), stride * sizeof(float));
      n_pairs_[i] = 0;
    }
    for (int k = 0; k < Kn; ++k) y_[k] = output(u.negatives[p / B * Kn + k]);
    std::memset(dx_rows_, 0, nb * stride * sizeof(float));
    const float a = alpha(p / B * B);
    score_centres(p, nb, low, high, a, with_loss);
    score_negatives(p, nb, low, high, a, with_loss);
    const int64_t pairs = std::accumulate(n_pairs_.begin(), n_pairs_.begin() + nb, int64_t{0});
    if (!in_range(pairs + nb * Kn, true)) {
      if (ledger) return ledger->retry.push_back(p);
      return windows_.positions(p, p + nb, with_loss);
    }
    if (with_loss) count_predictions(pairs);
    products_.to_inputs<false>(g_, nb, y_.data(), Kn, ld, dx_.data());
    for (int i = 0; i < nb; ++i)
      weighted_sum(&lists_[i * max_pairs], 0, 1, &columns_[i * max_pairs], n_pairs_[i], &dx_[i], 1, n_vectors);
    dispatch_bool(ledger, [&](auto begin) { change<begin>(p, nb, low, high, ledger); });
  }

  // Updates rows in place or, if `begin`, writes the updates to `ledger`.
  template <bool begin>
  void change(int64_t p, int nb, int64_t low, int64_t high, Ledger* ledger) {
    const auto target = [=](float* row) { return begin ? ledger->record(row) : row; };
    if (o.learn_hidden) {
      for (int k = 0; k < Kn; ++k) y_[k] = target(y_[k]);
      products_.to_outputs<begin>(g_, nb, x_.data(), Kn, ld, y_.data());
    }
    for (int64_t c = low; c < high && o.learn_hidden; ++c) {
      const auto [first, last] = reached(c, p, nb);
      if (first >= last) continue;
      float* row = target(output(u.targets[c]));
      const float* g = gc_ + begins_[c - low];
      weighted_sum<Single, begin>(g, 0, 1, x_.data() + first, last - first, &row, 1, n_vectors);
    }
    for (int i = 0; i < nb; ++i) {
      const int32_t id = u.inputs[p + i];
      add<begin>(target(input(id)), dx_[i], lock_factor(id));
    }
  }

  // Options of windows_: only negative sampling, one pair at a time.
  static Tfw2vOptions window_options(Tfw2vOptions options) {
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
    if (next + j < n) prefetch(input(u.inputs[next + j]), stride);
    if (high + j < n) prefetch(output(u.targets[high + j]), stride);
    if (next < n)
      for (int k = j; k < Kn; k += B) prefetch(output(u.negatives[next / B * Kn + k]), stride);
  }

  // Computes g_ic of all pairs, centre by centre, in gc_. Then lists them by input in lists_ and columns_.
  void score_centres(int64_t p, int nb, int64_t low, int64_t high, float a, bool with_loss) {
    int64_t end = 0;
    for (int64_t c = low; c < high; ++c) {
      if (c - low < B) prefetch_next(p + nb, high, static_cast<int>(c - low));
      const auto [first, last] = reached(c, p, nb);
      const float* y = output(u.targets[c]);
      begins_[c - low] = end;
      if (first >= last) continue;
      TFW2V_ASSERT(x_rows_.has(x_[first], rows_read_by_run(last - first) * stride));
      TFW2V_ASSERT(gc_.has(gc_ + end, scores_written_by_run(last - first)));
      score_run(y, x_[first], stride, last - first, n_vectors, &gc_[end]);
      std::fill_n(&weights_c_[end], last - first, 1.f);
      if (c >= p && c < p + nb) weights_c_[end + c - p - first] = 0.f;
      for (end += last - first; end % kRunRows; ++end) weights_c_[end] = 0.f;
    }
    TFW2V_ASSERT(gc_.has(gc_, rounded(end, W)) && weights_c_.has(weights_c_, rounded(end, W)));
    for (int64_t j = end; j < rounded(end, W); ++j) gc_[j] = weights_c_[j] = 0.f;
    coefficients(gc_, weights_c_, static_cast<int>(rounded(end, W)), a, gc_, with_loss);
    float* lists = lists_.data();  // local copies: not reloaded after each store
    const float** columns = columns_.data();
    int* pairs = n_pairs_.data();
    for (int64_t c = low; c < high; ++c) {
      const auto [first, last] = reached(c, p, nb);
      const float *g = gc_ + begins_[c - low], *y = output(u.targets[c]);
      for (int i = first; i < last; ++i) {
        if (p + i == c) continue;
        TFW2V_ASSERT(pairs[i] < max_pairs);
        const int64_t index = i * max_pairs + pairs[i]++;
        lists[index] = g[i - first];
        columns[index] = y;
      }
    }
  }

  // Computes g_ik of all inputs and negatives, in g_.
  void score_negatives(int64_t p, int nb, int64_t low, int64_t high, float a, bool with_loss) {
    // Each of the Kn negatives counts K / Kn times per pair: K in expectation (Ji et al. 2016, section 4).
    const float scale = static_cast<float>(o.negative) / Kn;
    for (int i = 0; i < nb; ++i) {
      float* weights = weights_ + i * ld;
      for (int k = 0; k < ld; k += W) store(weights + k, load(used_.data() + k) * (-scale * n_pairs_[i]));
    }
    if (o.skip_targets || o.shards > 1) select(p, nb, low, high, scale);
    products_.scores(x_.data(), nb, y_.data(), Kn, g_, ld);
    coefficients(g_, weights_, nb * ld, a, g_, with_loss);
  }

  // Sets weights_[i, k] to the weight of negative k, summed over the centres of input i. Called if a pair's negatives
  // depend on its centre: with several shards of the vocabulary, each of the m negatives in the shard of the centre's
  // target has weight K / m, and all others 0. With skip_targets, negatives that equal the target have weight 0.
  void select(int64_t p, int nb, int64_t low, int64_t high, float scale) {
    for (int i = 0; i < nb; ++i) std::fill_n(weights_ + i * ld, Kn, 0.f);
    for (int64_t c = low; c < high; ++c) {
      const auto [first, last] = reached(c, p, nb);
      const Noise from = noise(p / B, c);
      for (int j = 0; j < from.n_negatives; ++j) {
        if (o.skip_targets && from[j] == u.targets[c]) continue;
        for (int i = first; i < last; ++i)
          if (p + i != c) weights_[i * ld + from.column(j)] -= scale * Kn / from.n_negatives;
      }
    }
  }

  const Tfw2vOptions window_options_;  // windows_ holds a reference to it, so this object must not be moved
  SkipgramWindows windows_;
  const int B, Kn, ld, w;
  const int64_t max_pairs;    // maximum pairs of an input
  const int64_t max_centres;  // maximum centres of a block
  const int64_t max_scores;   // maximum floats of gc_
  // begins_   [max_centres] index in gc_ of each centre's first score
  // n_pairs_    [B] P_i
  // x_, dx_   [B] rows of x_rows_ and dx_rows_
  // y_        [Kn] rows of the block's negatives, or their updates in the ledger during change()
  // used_     [ld] 1 per negative, then 0
  // lists_    [B, max_pairs] g_ic of each input's pairs; only the first P_i are set
  // columns_  [B, max_pairs] y_c of each input's pairs, likewise
  std::vector<int64_t> begins_;
  std::vector<int> n_pairs_;
  std::vector<float*> x_, dx_, y_;
  std::vector<float> used_, lists_;
  std::vector<const float*> columns_;
  BlockProducts products_;
  // x_rows_     [B + kRunRows - 1, stride] copies of the inputs, and rows that score_run() may read after the last
  // dx_rows_    [B, stride] dx, without lock
  // g_          [B, ld] z_ik, then g_ik
  // weights_    [B, ld] weights of g_; 0 from column Kn on
  // gc_         [max_scores] z_ic, then g_ic. Scores of each centre begin at a multiple of kRunRows
  // weights_c_  [max_scores] weights of gc_: 1, or 0 for a centre with itself and for padding
  Buffer x_rows_, dx_rows_, g_, weights_, gc_, weights_c_;
};

}  // namespace tfw2v::TFW2V_ISA
