// PV-DBOW with negative sampling (Le and Mikolov 2014, "Distributed Representations of Sentences and
// Documents", section 2.3): the row x of a tag predicts each token y_t of its documents, against K negatives.
//   z_k = x . y_k,  z_t = x . y_t,  g as in cbow_negatives.h, where h = x
//   dx = lock (sum_k g_k y_k + g_t y_t),  dy_k = g_k x,  dy_t = g_t x
#pragma once

#include <cstring>

#include "kernels/cbow_negatives.h"
#include "kernels/trainer.h"

namespace tfw2v::TFW2V_ISA {

// Trains the pairs of a block in groups of kGroup. The pairs of a group share negatives, and all are scored before
// any row is updated. Groups with scores out of range are trained pair by pair.
class TagPairs : Trainer {
 public:
  TagPairs(const UnitRows& unit, const float alphas[2], Tfw2vResult& result)
      : Trainer(unit, alphas, result), negatives_(unit), hidden_(kGroup * stride), dh_(kGroup * stride),
        zero_row_(stride) {}

  void block(int64_t p, bool with_loss) {
    const int64_t begin = std::max(p, n - n_tag_pairs), end = std::min(p + o.block, n);
    for (int64_t a = begin; a < end; a += kGroup) {
      const int g = static_cast<int>((a - begin) / kGroup);
      prefetch_next(a + o.block, g);
      train(a, static_cast<int>(std::min<int64_t>(kGroup, end - a)), p, g, with_loss);
    }
  }

 private:
  // Trains n_pairs pairs, from position a on, with the negatives of group g of the block that begins at p.
  void train(int64_t a, int n_pairs, int64_t p, int g, bool with_loss) {
    Position at[kGroup];
    for (int i = 0; i < kGroup; ++i) {
      const bool valid = i < n_pairs;
      at[i].hidden = hidden_ + i * stride;
      at[i].target = valid ? output(u.targets[a + i]) : zero_row_;
      at[i].backward_scale = valid ? lock_factor(u.inputs[a + i]) : 1.f;
      at[i].valid = valid;
      at[i].token = a + i;
      std::memcpy(at[i].hidden, valid ? input(u.inputs[a + i]) : zero_row_, stride * sizeof(float));
    }
    negatives_.predict(p / o.block, g, at);
    float* z = negatives_.z.data();
    const float* labels = negatives_.labels.data();
    coefficients(z, labels, static_cast<int>(negatives_.labels.size()), alpha(a), z, with_loss);
    const bool several = n_pairs > 1;
    if (!in_range(n_pairs * (o.negative + 1), several) && several) {
      for (int i = 0; i < n_pairs; ++i) train(a + i, 1, p, g, with_loss);
      return;
    }
    if (with_loss) count_predictions(n_pairs);
    negatives_.update(at, dh_, true, nullptr);
    for (int i = 0; i < n_pairs; ++i) add<>(input(u.inputs[a + i]), at[i].hidden, 1.f);
  }

  // Prefetches the rows of the next block's g-th group of pairs, which begins at position a.
  void prefetch_next(int64_t a, int g) const {
    for (int64_t i = a; i < std::min(a + kGroup, n); ++i) {
      prefetch(input(u.inputs[i]), stride);
      prefetch(output(u.targets[i]), stride);
    }
    const int32_t* negatives = u.negatives.data + a / o.block * o.shared;
    for (int k = g * o.negative; k < std::min((g + 1) * o.negative, o.shared) && a < n; ++k)
      prefetch(output(negatives[k]), stride);
  }

  GroupNegatives negatives_;
  Buffer hidden_;    // [kGroup, stride] copies of the inputs, then their updates
  Buffer dh_;        // [kGroup, stride] parts of the updates that come from negatives
  Buffer zero_row_;  // [stride] zeros: input and target of the missing pairs of an incomplete group
};

}  // namespace tfw2v::TFW2V_ISA
