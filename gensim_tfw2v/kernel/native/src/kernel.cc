// Training on the draws of a unit, and rows that travel. Compiled once for each kind of processor, which TFW2V_ISA names.
#include "kernel.h"

#include "cbow.h"
#include "rows_kernel.h"
#include "skipgram_sampled.h"
#include "skipgram_tree.h"

namespace tfw2v {
namespace TFW2V_ISA {

void train(const Tfw2vOptions& o, const Tfw2vDraws& u, const Tfw2vTables& t, const float alphas[2],
           int64_t first, int64_t last, int64_t loss_end, Tfw2vResult& result) {
  const auto blocks = [&](auto trainer) {
    for (int64_t p = first; p < last; p += o.block) trainer.block(p, p < loss_end);
  };
  if (!o.skipgram) return blocks(Cbow(o, u, t, alphas, result));
  if (o.negative) blocks(SkipgramSampled(o, u, t, alphas, result));
  if (o.hierarchical) blocks(SkipgramTree(o, u, t, alphas, result));
}

}  // namespace TFW2V_ISA
}  // namespace tfw2v
