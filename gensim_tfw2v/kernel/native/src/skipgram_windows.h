// Skip-gram, one window after the other.
#pragma once

#include "windows.h"

namespace tfw2v::TFW2V_ISA {

// Groups of a window's words predict its centre: a group shares negatives and scores, but as in
// gensim a word meets outputs that the words before it have moved. Those moves are sums of these
// words' rows, so their share in its update is, too. Without it rows are a tenth shorter, and
// neighbours are others.
class SkipgramWindows : Windows {
 public:
  SkipgramWindows(const UnitRows& unit, const float alphas[2], Tfw2vResult& result)
      : Windows(unit, alphas, result, 1), dx_(x_.size()), g_(x_.size()), group_(o.group) {}

  void block(int64_t p, bool with_loss) {
    const int nb = static_cast<int>(std::min<int64_t>(o.block, u.kept - p));
    int64_t groups = 0;
    for (int i = 0; i < nb; ++i) {
      look_ahead(p + i, p / o.block, i);
      const int words = add_words(p + i, 0);
      for (int first = 0; first < words; first += group_) {
        const int columns = add_predicted(p + i, p / o.block, groups++, 0);
        if (columns) train(first, std::min(group_, words - first), columns, alpha(p), with_loss);
      }
      if (with_loss) predicted(words);
    }
  }

  using Trainer::take;

 private:
  // The words x_[first] to before x_[first + m].
  void train(int first, int m, int columns, float alpha, bool with_loss) {
    const int ld = static_cast<int>(rounded(columns, W)), lm = static_cast<int>(rounded(m, W));
    float* g = z_.of(int64_t{m} * ld);         // scores, then coefficients
    float* common = gram_.of(int64_t{m} * lm);  // g_i . g_j
    float* dx = d_.of(m * S);
    float* const* x = x_.data() + first;
    for (int i = 0; i < m; ++i) dx_[i] = dx + i * S, g_[i] = g + int64_t{i} * ld;
    std::fill(labels_.begin() + columns, labels_.begin() + ld, 0.f);
    score(x, m, y_.data(), columns, N, g, ld);
    for (int i = 0; i < m; ++i)
      coefficients(g_[i], labels_.data(), ld, alpha, g_[i], with_loss);
    if (!sane(int64_t{m} * columns)) group_ = 1;
    score(g_.data(), m, g_.data(), m, ld / W, common, lm);
    gather<Single, true>(g, ld, 1, y_.data(), columns, dx_.data(), m, N);
    for (int i = 1; i < m; ++i) gather(common + i * lm, 0, 1, x, i, &dx_[i], 1, N);
    gather(g, 1, ld, x, m, y_.data(), columns, N);
    for (int i = 0; i < m; ++i) add(x[i], dx_[i], factors_[first + i]);
  }

  std::vector<float*> dx_, g_;
  int group_;
  Buffer z_, d_, gram_;
};

}  // namespace tfw2v::TFW2V_ISA
