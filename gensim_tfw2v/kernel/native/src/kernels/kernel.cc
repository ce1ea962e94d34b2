// Training, inference and operations on rows, compiled once per instruction set: TFW2V_ISA.
#include "kernels/kernel.h"

#include <optional>

#include "kernels/cbow_blocks.h"
#include "kernels/cbow_concat.h"
#include "kernels/deterministic.h"
#include "kernels/inference.h"
#include "kernels/skipgram_blocks.h"
#include "kernels/skipgram_windows.h"
#include "kernels/subwords.h"
#include "kernels/tag_pairs.h"
#include "rows/rows_kernel.h"

namespace tfw2v::TFW2V_ISA {

// Trainers by options; the first matching line applies:
//   pool                                           DeterministicRounds of SkipgramBlocks or CbowBlocks
//   CBOW, concatenated                             CbowConcat
//   CBOW, sequential, several shards or documents  CbowWindows
//   CBOW                                           CbowBlocks
//   skip-gram, K = 0 or sequential                 SkipgramWindows
//   skip-gram                                      SkipgramBlocks for windows, TagPairs for (tag, token)
//                                                  pairs, SkipgramWindows for hierarchical softmax
// Each trainer passes over all positions of the run. With subwords it does so span by span, on inputs that
// Subwords composes.
void train(const Tfw2vOptions& o, const Tfw2vUnit& u, const Tfw2vTables& t, const Tfw2vRun& run,
           Tfw2vResult& result) {
  const float* alphas = run.alphas.data;
  std::optional<HotNodes> hot_nodes;
  const int64_t max_uses = HotNodes::max_uses(o, alphas[0], run.threads);
  if (!o.skipgram && o.hierarchical && o.learn_hidden && run.threads > 1 && max_uses > 1) {
    const int64_t rows_per_node = std::max(1, o.concatenated);
    hot_nodes.emplace(t.nodes.rows, t.nodes.n_rows / rows_per_node, t.stride * rows_per_node, max_uses);
  }
  const UnitRows unit(o, u, t, hot_nodes ? &*hot_nodes : nullptr);
  if (run.pool) {
    if (o.skipgram) return DeterministicRounds<SkipgramBlocks>(unit, run).train(result);
    return DeterministicRounds<CbowBlocks>(unit, run).train(result);
  }
  const auto train_all = [&](const UnitRows& unit, auto spans) {
    const auto train_with = [&](auto&& trainer) {
      spans([&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; p += o.block) trainer.block(p, run.has_loss(p / o.block));
      });
    };
    if (o.concatenated) return train_with(CbowConcat(unit, alphas, result));
    if (!o.skipgram && (o.sequential || o.shards > 1 || o.documents))
      return train_with(CbowWindows(unit, alphas, result, o.group));
    if (!o.skipgram) return train_with(CbowBlocks(unit, alphas, result));
    const bool in_blocks = o.negative && !o.sequential;
    // All trainers are constructed, which allocates their memory, before the first one changes rows.
    std::optional<SkipgramBlocks> blocks;
    std::optional<TagPairs> pairs;
    std::optional<SkipgramWindows> windows;
    if (in_blocks && unit.n > unit.n_tag_pairs) blocks.emplace(unit, alphas, result);
    if (in_blocks && unit.n_tag_pairs) pairs.emplace(unit, alphas, result);
    if (o.hierarchical || !in_blocks) windows.emplace(unit, alphas, result);
    if (blocks) train_with(*blocks);
    if (pairs) train_with(*pairs);
    if (windows) train_with(*windows);
    blocks.reset(), pairs.reset();  // the destructors add the trainers' sums to the result, in this order
  };
  if (!t.subwords.n_lists()) return train_all(unit, [&](auto train) { train(run.begin, run.end); });
  Subwords subwords(unit);
  train_all(subwords.unit(), [&](auto train) { subwords.spans(run.begin, run.end, train); });
}

void infer(const Tfw2vOptions& o, const Tfw2vNoiseTable& words, const Tfw2vTables& t,
           const Tfw2vInference& documents) {
  const Tfw2vUnit none{};
  Tfw2vResult result{};
  Inference({o, none, t}, words, documents, result).run();
}

}  // namespace tfw2v::TFW2V_ISA
