// Training on the draws of a unit. Compiled once for each kind of processor, which TFW2V_ISA names.
#include "kernel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "products.h"

namespace tfw2v {
namespace TFW2V_ISA {
namespace {

constexpr int64_t rounded(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Floats that begin at a cache line.
class Buffer {
 public:
  float* of(int64_t floats) {
    if (static_cast<int64_t>(held_.size()) < floats + 16) held_.resize(floats + 16);
    const uintptr_t at = reinterpret_cast<uintptr_t>(held_.data());
    return reinterpret_cast<float*>((at + 63) & ~uintptr_t{63});
  }

 private:
  std::vector<float> held_;
};

// What all objectives of a unit share.
class Trainer {
 public:
  Trainer(const Tfw2vOptions& options, const Tfw2vDraws& draws, const Tfw2vTables& tables,
          const float alphas[2], Tfw2vResult& result)
      : o(options), u(draws), t(tables), N(static_cast<int>(tables.stride / W)), result(result),
        alpha_(alphas[0]), slope_(u.kept ? (alphas[1] - alphas[0]) / u.kept : 0.f) {}
  ~Trainer() {
    result.magnitude += total(sizes_);
    result.loss += total(cost_);
  }

 protected:
  float alpha(int64_t position) const { return alpha_ + slope_ * position; }
  float* input(int64_t row) const { return t.inputs.rows + row * t.stride; }
  float* output(int64_t row) const { return t.outputs.rows + row * t.stride; }
  float* node(int64_t row) const { return t.nodes.rows + row * t.stride; }
  float locked(int32_t row) const { return t.lock ? t.lock[row] : 1.f; }
  void add(float* to, const float* change, float factor) const {
    for (int64_t d = 0; d < t.stride; d += W) store(to + d, load(to + d) + factor * load(change + d));
  }
  // Negatives of its block that count for a target, times how often.
  bool counts(int32_t negative, int k, int64_t position) const {
    return (!o.skip_targets || negative != u.targets[position]) &&
           (o.shards == 1 || k % o.shards == shard(position));
  }
  int shard(int64_t position) const {
    return o.shards == 1 ? 0 : (u.words ? u.words : u.targets)[position] % o.shards;
  }

  // Coefficients of scores: how far each is off, times alpha. Weights below 0 are of negatives, and
  // of 0 of what does not count. `columns` is a multiple of W.
  void coefficients(const float* scores, const float* weights, int columns, float alpha, float* g,
                    bool with_loss) {
    for (int c = 0; c < columns; c += W) {
      const Vector z = load(scores + c), w = load(weights + c);
      const Vector wrong = w > Vector{} ? -z : z;  // the score of the other label
      store(g + c, w * alpha * sigmoid(wrong));
      sizes_ += w == Vector{} ? Vector{} : absolute(z);
      if (with_loss) cost_ += absolute(w) * softplus(wrong);
    }
  }

  const Tfw2vOptions& o;
  const Tfw2vDraws& u;
  const Tfw2vTables& t;
  const int N;
  Tfw2vResult& result;

 private:
  float alpha_, slope_;
  Vector sizes_ = {}, cost_ = {};
};

// Skip-gram with negative sampling: blocks of B inputs share their negatives, and rows are updated
// after each block.
class SampledBlocks : Trainer {
 public:
  SampledBlocks(const Tfw2vOptions& options, const Tfw2vDraws& draws, const Tfw2vTables& tables,
                const float alphas[2], Tfw2vResult& result)
      : Trainer(options, draws, tables, alphas, result),
        B(o.block), K(o.shared), Kr(static_cast<int>(rounded(K, W))), w(o.window),
        halo(static_cast<int>(std::min<int64_t>(B + 2 * int64_t{w}, draws.kept + 1))),
        pairs_(B), x_(B), dx_(B), y_(K), rows_(B), packed_(K), terms_(std::max<int64_t>({t.stride, B, K})), zeros_(t.stride), none_(Kr), used_(Kr) {
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
      for (int i = first; i < last; i += W) {
        store(&weights_c_[end + i - first], all(1.f));
        score_few(y, x_.data() + i, std::min(W, last - i), N, &gc_[end + i - first]);
      }
      if (first >= last) continue;
      if (c >= p && c < p + nb) weights_c_[end + c - p - first] = 0.f;  // not with itself
      end += last - first;
    }
    for (int64_t j = end; j < rounded(end, W); ++j) gc_[j] = weights_c_[j] = 0.f;
    coefficients(gc_, weights_c_, static_cast<int>(rounded(end, W)), a, gc_, with_loss);
    for (int64_t c = low; c < high; ++c) {
      const auto [first, last] = reached(c, p, nb);
      const float* g = gc_ + begins_[c - low];
      for (int i = first; i < last; ++i) {
        if (p + i == c) continue;
        const int64_t place = i * capacity_ + pairs_[i]++;
        lists_[place] = g[i - first];
        columns_[place] = output(u.targets[c]);
      }
    }
    if (with_loss)
      for (int i = 0; i < nb; ++i) result.predictions += pairs_[i];
  }

  void noise(int64_t p, int nb, int64_t low, int64_t high, const int32_t* negatives, float a, bool with_loss) {
    const float share = static_cast<float>(o.negative) / K;
    for (int i = 0; i < nb; ++i) {
      float* weights = weights_ + i * Kr;
      for (int k = 0; k < Kr; k += W) store(weights + k, load(used_.data() + k) * (-share * pairs_[i]));
    }
    if (o.skip_targets || o.shards > 1) select(p, nb, low, high, negatives, share);
    score_noise(nb);
    coefficients(g_, weights_, nb * Kr, a, g_, with_loss);
    gather_noise(nb);
  }

#if defined(__AVX512BF16__)
  // In pairs of bfloat16: with the multiply-adds of these products half of skip-gram's work is done.
  void score_noise(int nb) {
    const int D2 = (t.size + 1) / 2, half = static_cast<int>(rounded(t.stride, 2 * W) / 2);
    float* x = xa_.of(int64_t{B} * half);
    float* y = ya_.of(int64_t{K} * half);
    float* columns = yt_.of(int64_t{half} * Kr);
    for (int i = 0; i < nb; ++i) pair_along(x_[i], N, x + int64_t{i} * half);
    for (int k = 0; k < K; ++k) pair_along(y_[k], N, y + int64_t{k} * half), packed_[k] = y + int64_t{k} * half;
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
      pair_rows(g_ + int64_t{2 * i} * Kr, both ? g_ + int64_t{2 * i + 1} * Kr : none_.data(), Kr / W, gt + int64_t{i} * Kr);
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

// Window by window, as gensim defines word2vec: CBOW with both layers, and skip-gram's tree.
class Windows : Trainer {
 public:
  Windows(const Tfw2vOptions& options, const Tfw2vDraws& draws, const Tfw2vTables& tables,
          const float alphas[2], Tfw2vResult& result)
      : Trainer(options, draws, tables, alphas, result), sampled_(!o.skipgram && o.negative) {}

  void look_ahead(int64_t a) {
    if (a >= u.kept) return;
    if (o.hierarchical)
      for (int32_t k = begin(a); k < end(a); ++k) fetch_ahead(node(u.path[k] / 2), t.stride);
    if (sampled_) {
      fetch_ahead(output(u.targets[a]), t.stride);
      each_negative(a, [&](int32_t negative) { fetch_ahead(output(negative), t.stride); });
    }
    const int64_t ahead = a + o.window;
    if (ahead < u.kept) fetch_ahead(input(u.inputs[ahead]), t.stride);
  }

  void window(int64_t a, bool with_loss) {
    const int64_t first = a - u.reaches[2 * a], last = a + u.reaches[2 * a + 1];
    x_.clear();
    factors_.clear();
    for (int64_t j = first; j <= last; ++j) {
      if (j == a) continue;
      x_.push_back(input(u.inputs[j]));
      factors_.push_back(locked(u.inputs[j]));
    }
    if (x_.empty()) return;
    outputs_of(a);
    const int columns = static_cast<int>(y_.size()), ld = static_cast<int>(rounded(columns, W));
    y_weights_.resize(ld, 0.f);
    if (o.skipgram) pairs(a, columns, ld, with_loss);
    else together(a, columns, ld, with_loss);
    if (with_loss) result.predictions += o.skipgram ? x_.size() : 1;
  }

 private:
  int32_t begin(int64_t a) const { return u.path_ends[u.inputs[a]]; }
  int32_t end(int64_t a) const { return u.path_ends[u.inputs[a] + 1]; }

  // A position's K of its block's negatives, of its target's shard: those after the ones of the
  // position before, and from the first on again.
  template <class Use>
  void each_negative(int64_t a, Use use) const {
    const int first = shard(a), number = (o.shared - first + o.shards - 1) / o.shards;
    const int32_t* negatives = u.negatives + a / o.block * o.shared + first;
    int at = static_cast<int>(a % o.block) * o.negative % number;
    for (int j = 0; j < o.negative; ++j) {
      use(negatives[o.shards * at]);
      if (++at == number) at = 0;
    }
  }

  void outputs_of(int64_t a) {
    y_.clear();
    y_weights_.clear();
    if (o.hierarchical)
      for (int32_t k = begin(a); k < end(a); ++k) {
        y_.push_back(node(u.path[k] / 2));
        y_weights_.push_back(u.path[k] % 2 ? -1.f : 1.f);
      }
    if (!sampled_) return;
    y_.push_back(output(u.targets[a]));
    y_weights_.push_back(1.f);
    each_negative(a, [&](int32_t negative) {
      if (o.skip_targets && negative == u.targets[a]) return;
      y_.push_back(output(negative));
      y_weights_.push_back(-1.f);
    });
  }

  // Each word of the window predicts: all with the same scores, but as in gensim a word meets nodes
  // that the words before it have moved. Those moves are sums of these words' rows, so their share
  // in its update is, too. Without it rows are a tenth shorter, and neighbours are others.
  void pairs(int64_t a, int columns, int ld, bool with_loss) {
    const int m = static_cast<int>(x_.size()), lm = static_cast<int>(rounded(m, W));
    float* g = zb_.of(int64_t{m} * ld);       // scores, then coefficients
    float* common = gram_.of(int64_t{m} * lm);  // g_i . g_j
    float* dx = dxb_.of(m * t.stride);
    dx_.resize(m);
    g_.resize(m);
    for (int i = 0; i < m; ++i) dx_[i] = dx + i * t.stride, g_[i] = g + int64_t{i} * ld;
    score(x_.data(), m, y_.data(), columns, N, g, ld);
    for (int i = 0; i < m; ++i) {
      for (int c = columns; c < ld; ++c) g_[i][c] = 0.f;
      coefficients(g_[i], y_weights_.data(), ld, alpha(a), g_[i], with_loss);
    }
    score(g_.data(), m, g_.data(), m, ld / W, common, lm);
    gather<Single, true>(g, ld, 1, y_.data(), columns, dx_.data(), m, N);
    for (int i = 1; i < m; ++i) gather(common + i * lm, 0, 1, x_.data(), i, &dx_[i], 1, N);
    gather(g, 1, ld, x_.data(), m, y_.data(), columns, N);
    for (int i = 0; i < m; ++i) add(x_[i], dx_[i], factors_[i]);
  }

  // The sum or mean of the window's words predicts.
  void together(int64_t a, int columns, int ld, bool with_loss) {
    const int m = static_cast<int>(x_.size());
    float* hidden = zb_.of(2 * t.stride + ld);
    float *d_hidden = hidden + t.stride, *z = d_hidden + t.stride;
    const float mean = 1.f / m;
    for (int64_t d = 0; d < t.stride; d += W) {
      Vector sum = {};
      for (int i = 0; i < m; ++i) sum += load(x_[i] + d);
      store(hidden + d, o.mean ? sum * mean : sum);
      store(d_hidden + d, Vector{});
    }
    for (int c = 0; c < columns; c += W) score_few(hidden, y_.data() + c, std::min(W, columns - c), N, z + c);
    coefficients(z, y_weights_.data(), ld, alpha(a), z, with_loss);
    gather(z, 0, 1, y_.data(), columns, &d_hidden, 1, N);
    for (int c = 0; c < columns; ++c) add(y_[c], hidden, z[c]);
    const float factor = o.mean == o.corrected ? mean : 1.f;
    for (int i = 0; i < m; ++i) add(x_[i], d_hidden, factor * factors_[i]);
  }

  const bool sampled_;
  std::vector<float*> x_, y_, dx_, g_;
  std::vector<float> factors_, y_weights_;
  Buffer zb_, dxb_, gram_;
};

}  // namespace

void train(const Tfw2vOptions& o, const Tfw2vDraws& u, const Tfw2vTables& t, const float alphas[2],
           int64_t first, int64_t last, int64_t loss_end, Tfw2vResult& result) {
  constexpr int kAhead = 3;  // windows
  if (o.skipgram && o.negative) {
    SampledBlocks blocks(o, u, t, alphas, result);
    for (int64_t p = first; p < last; p += o.block) blocks.block(p, p < loss_end);
  }
  if (!o.skipgram || o.hierarchical) {
    Windows windows(o, u, t, alphas, result);
    for (int64_t a = first; a < first + kAhead; ++a) windows.look_ahead(a);
    for (int64_t a = first; a < last; ++a) {
      windows.look_ahead(a + kAhead);
      windows.window(a, a < loss_end);
    }
  }
}

}  // namespace TFW2V_ISA
}  // namespace tfw2v
