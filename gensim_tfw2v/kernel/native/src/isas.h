// Instruction sets that the kernels are compiled for, fastest first. This is the only list of them: setup.py takes
// names and flags from it, c_api.cc selects a kernel by it. A set with longer vectors also needs a width in
// kernels/vector.h.
//
//   X(name, base, flags, supported)
//   base       instruction set, or processor architecture of cpu.h, that `name` extends
//   flags      compiler flags, in addition to those of the base
//   supported  whether the processor and the operating system support `name`, provided that they support the base
#pragma once

#include "cpu.h"

// clang-format off
#define TFW2V_ISAS(X)                                                                                              \
  X(avx512bf16, avx512, "-mavx512bf16", has_bits(7, 1, kEax, {5}))                                                 \
  X(avx512, avx2, "-mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512",                          \
    saves_registers(kZmm) && has_bits(7, 0, kEbx, {16, 17, 30, 31}))                                               \
  X(avx2, x86_64, "-mavx2 -mfma",                                                                                  \
    saves_registers(kYmm) && has_bits(1, 0, kEcx, {12}) && has_bits(7, 0, kEbx, {5}))                              \
  X(portable, any, "", true)
// clang-format on

// Names of the sets that this library is compiled for, in the same order. setup.py defines it.
#if !defined(TFW2V_COMPILED)
#define TFW2V_COMPILED(X) X(portable)
#endif

namespace tfw2v {

// Each function returns whether this machine supports the instruction set of its name.
struct Supports : cpu::Architecture {
#define TFW2V_SUPPORTS(isa, base, flags, supported) \
  static bool isa() {                               \
    using namespace cpu;                            \
    return base() && (supported);                   \
  }
  TFW2V_ISAS(TFW2V_SUPPORTS)
};

}  // namespace tfw2v
