// Training drawn units, as each processor has it: the same source, compiled for each.
#pragma once
#include "rows.h"
#include "thread_pool.h"
#include "unit.h"

namespace tfw2v {

// Trains the positions first to before last; the loss of every so many blocks is summed, 0: none.
using Train = void (*)(const Tfw2vOptions&, const Tfw2vDraws&, const Tfw2vTables&,
                       const float alphas[2], int64_t first, int64_t last, int64_t loss_every,
                       Tfw2vResult&);

// The same of a whole unit, by a pool's threads in rounds of so many blocks. It has no windows trained one by
// one, and no hierarchical softmax.
using TrainDeterministic = void (*)(const Tfw2vOptions&, const Tfw2vDraws&, const Tfw2vTables&,
                               const float alphas[2], int64_t loss_every, int at_once, ThreadPool&,
                               Tfw2vResult&);

// Infers documents' vectors.
using Infer = void (*)(const Tfw2vOptions&, const Tfw2vNoiseTable&, const Tfw2vTables&, const Tfw2vLists& paths,
                       const Tfw2vInference&);

#define TFW2V_KERNEL(isa)                                                                   \
  namespace isa {                                                                            \
  void train(const Tfw2vOptions&, const Tfw2vDraws&, const Tfw2vTables&, const float[2],     \
             int64_t, int64_t, int64_t, Tfw2vResult&);                                       \
  void train_deterministic(const Tfw2vOptions&, const Tfw2vDraws&, const Tfw2vTables&,            \
                      const float[2], int64_t, int, ThreadPool&, Tfw2vResult&);                     \
  void infer(const Tfw2vOptions&, const Tfw2vNoiseTable&, const Tfw2vTables&, const Tfw2vLists&,  \
             const Tfw2vInference&);                                                         \
  extern const RowKernel rows[2];                                                            \
  }
TFW2V_KERNEL(portable)
TFW2V_KERNEL(avx2)
TFW2V_KERNEL(avx512)
TFW2V_KERNEL(avx512bf16)

}  // namespace tfw2v
