// Entry points of the kernels: kernel.cc is compiled once per instruction set, each in its own namespace.
// `rows` has an element for each type of transferred rows, in the order of Wire.
#pragma once
#include "isas.h"
#include "rows/rows.h"
#include "unit.h"

namespace tfw2v {

using Train = void(const Tfw2vOptions&, const Tfw2vUnit&, const Tfw2vTables&, const Tfw2vRun&, Tfw2vResult&);
using Infer = void(const Tfw2vOptions&, const Tfw2vNoiseTable&, const Tfw2vTables&, const Tfw2vInference&);

#define TFW2V_KERNEL(isa, base, flags, supported, slower) \
  namespace isa {                                         \
  Train train;                                            \
  Infer infer;                                            \
  extern const RowKernel rows[3];                         \
  }
TFW2V_ISAS(TFW2V_KERNEL)

}  // namespace tfw2v
