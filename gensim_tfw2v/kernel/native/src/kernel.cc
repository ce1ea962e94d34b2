// Training drawn units, and rows that travel: compiled for each processor that TFW2V_ISA names.
#include "kernel.h"

#include "cbow_blocks.h"
#include "cbow_concat.h"
#include "inference.h"
#include "tag_pairs.h"
#include "rows_kernel.h"
#include "skipgram_sampled.h"
#include "skipgram_windows.h"
#include "subwords.h"
#include "deterministic.h"

namespace tfw2v::TFW2V_ISA {

void train(const Tfw2vOptions& o, const Tfw2vDraws& u, const Tfw2vTables& t, const float alphas[2],
           int64_t first, int64_t last, int64_t loss_every, Tfw2vResult& result) {
  const auto has_loss = [&](int64_t p) { return loss_every && p / o.block % loss_every == 0; };
  const auto trained = [&](auto& trainer) {
    return [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; p += o.block) trainer.block(p, has_loss(p));
    };
  };
  const auto train_all = [&](const UnitRows& unit, auto spans) {
    const auto train_with = [&](auto trainer) { spans(trained(trainer)); };
    if (o.concatenated) return train_with(CbowConcat(unit, alphas, result));
    if (!o.skipgram && (o.sequential || o.shards > 1 || o.documents))
      return train_with(CbowWindows(unit, alphas, result, o.group));
    if (!o.skipgram) return train_with(CbowBlocks(unit, alphas, result));
    const bool in_blocks = o.negative && !o.sequential;
    if (in_blocks && u.kept > u.tag_pairs) train_with(SkipgramSampled(unit, alphas, result));
    if (in_blocks && u.tag_pairs) train_with(TagPairs(unit, alphas, result));
    if (o.hierarchical || !in_blocks) train_with(SkipgramWindows(unit, alphas, result));
  };
  const UnitRows unit(o, u, t);
  if (!u.subwords.number) return train_all(unit, [&](auto train) { train(first, last); });
  Subwords subwords(unit);
  train_all(subwords.unit(), [&](auto train) { subwords.spans(first, last, train); });
}

void train_deterministic(const Tfw2vOptions& o, const Tfw2vDraws& u, const Tfw2vTables& t,
                    const float alphas[2], int64_t loss_every, int at_once, ThreadPool& pool,
                    Tfw2vResult& result) {
  const UnitRows unit(o, u, t);
  if (o.skipgram)
    DeterministicRounds<SkipgramSampled>(unit, u.kept, o.block, alphas, loss_every, at_once, pool).train(result);
  else
    DeterministicRounds<CbowBlocks>(unit, u.kept, o.block, alphas, loss_every, at_once, pool).train(result);
}

void infer(const Tfw2vOptions& o, const Tfw2vNoiseTable& words, const Tfw2vTables& t,
           const Tfw2vLists& paths, const Tfw2vInference& documents) {
  Tfw2vDraws of_paths{};
  of_paths.paths = paths;
  Tfw2vResult result{};
  Inference({o, of_paths, t}, words, documents, result).run();
}

}  // namespace tfw2v::TFW2V_ISA
