// CBOW (Mikolov et al. 2013, "Efficient Estimation of Word Representations in Vector Space", section 3.1) in
// blocks, with negative sampling and hierarchical softmax. The q words x_j of a window predict its centre:
//   h = forward_scale sum_j x_j;  z, g, dh, dy as in trainer.h;  dx_j = lock_j backward_scale dh
// q counts gensim's rows (UnitRows::count). forward_scale is 1 / q for the mean, 1 for the sum. Likewise,
// backward_scale is:
//   as in gensim   1 for the mean, 1 / q for the sum
//   o.corrected    1 / q for the mean, 1 for the sum: the gradient of the loss (Irsoy et al. 2021,
//                  "Corrected CBOW Performs as well as Skip-gram", section 2)
#pragma once

#include <memory>

#include "kernels/cbow_negatives.h"
#include "kernels/cbow_paths.h"
#include "kernels/cbow_windows.h"

namespace tfw2v::TFW2V_ISA {

// Computes all hidden layers of a block from the rows at its start. Updates outputs after each group of
// kGroup positions, inputs once at the end of the block. Groups with scores out of range are skipped, and
// trained window by window afterwards.
class CbowBlocks : Trainer {
 public:
  CbowBlocks(const UnitRows& unit, const float alphas[2], Tfw2vResult& result)
      : Trainer(unit, alphas, result), windows_(unit, alphas, result, 1), sums_(unit), negatives_(unit),
        paths_(unit, windows_.max_outputs()), dh_(kGroup * stride) {
    retry_.reserve(o.block);
  }

  // Trains the block of positions [p, p + B). With `ledger`, records the updates instead of applying them,
  // and adds the positions of groups with scores out of range to ledger->retry.
  void block(int64_t p, bool with_loss, Ledger* ledger = nullptr) {
    const int nb = static_cast<int>(std::min<int64_t>(o.block, n - p));
    const int groups = sums_.begin(p, nb);
    retry_.clear();
    for (int g = 0; g < groups; ++g) group(p, g, with_loss, ledger);
    sums_.end(p, nb, ledger);
    if (ledger) return std::swap(ledger->retry, retry_);
    for (int64_t a : retry_) retrain(a, with_loss);
  }

  // Trains a position of a group whose scores were out of range.
  void retrain(int64_t a, bool with_loss) { windows_.window(a, with_loss); }
  Sums take() { return Trainer::take() += windows_.take(); }
  std::unique_ptr<Ledger> ledger() const {
    // A block changes the inputs of its windows, and for each group its targets and its negatives.
    const int64_t w = std::min<int64_t>(o.window, n), max_inputs = o.block + 2 * w;
    const int64_t max_groups = o.block / kGroup + 1;
    return std::make_unique<Ledger>(max_inputs + max_groups * (kGroup + o.negative), stride);
  }
  using Trainer::add;

 private:
  // Trains the outputs and nodes of the g-th group, and adds up the updates of its windows' words.
  void group(int64_t p, int g, bool with_loss, Ledger* ledger) {
    Position* at = sums_.group(g);
    const auto learn = [&](auto& outputs) {
      const int columns = static_cast<int>(outputs.labels.size());
      float* z = outputs.z.data();
      coefficients(z, outputs.labels.data(), columns, alpha(p), z, with_loss);
    };
    if (o.negative) {
      negatives_.predict(p / o.block, g, at);
      learn(negatives_);
    }
    if (o.hierarchical) {
      paths_.predict(at);
      learn(paths_);
    }
    prefetch_next(p + o.block, g);
    int n_valid = 0;
    for (int i = 0; i < kGroup; ++i) n_valid += at[i].valid;
    if (!in_range(n_valid * (o.negative ? o.negative + 1 : 0) + paths_.nodes(), true)) {
      for (int i = 0; i < kGroup; ++i) {
        if (at[i].valid) {
          TFW2V_ASSERT(retry_.size() < retry_.capacity());
          retry_.push_back(at[i].token);
        }
        sums_.skip(at[i]);
      }
      return;
    }
    if (with_loss) count_predictions(n_valid);
    if (o.hierarchical) paths_.update(at, dh_);
    if (o.negative) return negatives_.update(at, dh_, !o.hierarchical, ledger);
    for (int i = 0; i < kGroup; ++i) add<true>(at[i].hidden, dh_ + i * stride, at[i].backward_scale);
  }

  // Prefetches a part of the next block's rows: its negatives [g K, (g + 1) K), and the rows that its positions [g
  // kGroup, (g + 1) kGroup) use but the positions before them do not. Rows that are appended to negatives_.next are
  // prefetched later, by negatives_.update().
  void prefetch_next(int64_t next, int g) {
    const int K = o.negative;
    std::vector<const float*>& rows = negatives_.next;
    rows.clear();
    for (int64_t a = next + g * kGroup, end = std::min(a + kGroup, n); a < end; ++a) {
      if (o.hierarchical) {
        prefetch_position(a, a + o.block, K);
        continue;
      }
      rows.push_back(output(u.targets[a]));
      if (a + o.window < n) rows.push_back(input(u.inputs[a + o.window]));
    }
    for (int k = g * K; k < std::min((g + 1) * K, o.shared) && next < n; ++k)
      rows.push_back(output(u.negatives[next / o.block * o.shared + k]));
  }

  CbowWindows windows_;
  WindowSums sums_;
  GroupNegatives negatives_;
  GroupPaths paths_;
  std::vector<int64_t> retry_;  // positions to train window by window
  Buffer dh_;                   // [kGroup, stride] updates of a group's hidden layers
};

}  // namespace tfw2v::TFW2V_ISA
