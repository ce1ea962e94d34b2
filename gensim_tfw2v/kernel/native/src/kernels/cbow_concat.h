// PV-DM with concatenation, gensim's dm_concat (Le and Mikolov 2014, "Distributed Representations of
// Sentences and Documents", section 2.2): the rows x_0, x_1, ... of a document's tags and of the 2w words of
// a window predict its centre by their concatenation.
//   h = [x_0; x_1; ...], of output_stride floats;  z_c = h . y_c,  g_c as in trainer.h
//   for each output or node c in order: dh += g_c y_c, then y_c += g_c h
//   x_r += lock_r dh[r], where dh[r] are floats [r stride, (r + 1) stride) of dh
#pragma once

#include <cstring>

#include "kernels/windows.h"

namespace tfw2v::TFW2V_ISA {

// Trains window by window. The input o.padding takes the place of words outside of the document or window.
class CbowConcat : Windows {
 public:
  CbowConcat(const UnitRows& unit, const float alphas[2], Tfw2vResult& result)
      : Windows(unit, alphas, result, 1), vectors_(static_cast<int>(output_stride / W)), scores_(labels_.size() + W),
        hidden_(output_stride), delta_(output_stride), rows_(o.concatenated) {}

  void block(int64_t p, bool with_loss) {
    const int nb = static_cast<int>(std::min<int64_t>(o.block, n - p));
    for (int i = 0; i < nb; ++i)
      // As in gensim, skips documents whose number of tags is not o.concatenated - 2w.
      if (o.concatenated == 2 * o.window + (tags_end(p + i) - tags_begin(p + i)))
        train(p + i, add_predicted(p + i, p / o.block, i, 0), alpha(p), with_loss);
  }

 private:
  void train(int64_t a, int columns, float alpha, bool with_loss) {
    int32_t* row = std::copy(tags_begin(a), tags_end(a), rows_.data());
    for (int64_t j = a - o.window; j <= a + o.window; ++j)
      if (j != a) *row++ = j < a - u.reaches[2 * a] || j > a + u.reaches[2 * a + 1] ? o.padding : u.inputs[j];
    TFW2V_ASSERT(row == rows_.data() + o.concatenated);
    for (int c = 0; c < o.concatenated; ++c)
      std::memcpy(hidden_ + c * stride, input(rows_[c]), stride * sizeof(float));
    const float* hidden = hidden_;
    if (o.group == 1 && o.skip_targets) {
      train_in_turn(hidden, columns, vectors_, alpha, with_loss, delta_);
    } else {
      const int ld = static_cast<int>(rounded(columns, W));
      std::fill(labels_.begin() + columns, labels_.begin() + ld, 0.f);
      score(&hidden, 1, y_.data(), columns, vectors_, scores_, 0);
      coefficients(scores_, labels_.data(), ld, alpha, scores_, with_loss);
      if (!o.learn_hidden) {
        read_backward<true>(scores_, y_.data(), columns, delta_, vectors_);
      } else {
        slices<kSlice>(vectors_, [&](auto L, int64_t d) {
          Vector dh[L];
          backward<L>(scores_, y_.data(), columns, hidden, d, dh);
          unroll<L>([&](auto l) { store(delta_ + d + l * W, dh[l]); });
        });
      }
    }
    in_range(columns);
    for (int c = 0; c < o.concatenated; ++c) add(input(rows_[c]), delta_ + c * stride, lock_factor(rows_[c]));
    if (with_loss) count_predictions(1);
  }

  const int vectors_;          // number of vectors of a hidden layer
  Buffer scores_;              // scores z, then coefficients g
  Buffer hidden_;              // [output_stride] h
  Buffer delta_;               // [output_stride] dh
  std::vector<int32_t> rows_;  // [concatenated] ids of the inputs x_r
};

}  // namespace tfw2v::TFW2V_ISA
