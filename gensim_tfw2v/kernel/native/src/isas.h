// Instruction sets that the kernels are compiled for, each before its base. This is the only list of them: setup.py
// takes names and flags from it, c_api.cc selects a kernel by it. A set with longer vectors also needs a width in
// kernels/vector.h.
//
//   X(name, base, flags, supported, slower)
//   base       instruction set, or processor architecture of cpu.h, that `name` extends
//   flags      compiler flags, in addition to those of the base
//   supported  whether the processor and the operating system support `name`, provided that they support the base
//   slower     whether the kernel for `name` is slower than the one for the base, on a processor that supports both
//
// avx512bf16 is slower on Intel's processors. On Emerald Rapids, vdpbf16ps takes 0.85 ns for two products per lane, and
// vfmadd takes 0.19 ns for one. The condition is the vendor rather than a measurement at the start of a program, which
// could choose a different kernel in each run, so that equal trainings would give different vectors.
#pragma once

#include "cpu.h"

// clang-format off
#define TFW2V_ISAS(X)                                                                                              \
  X(avx512bf16, avx512, "-mavx512bf16", has_bits(7, 1, kEax, {5}), is_intel())                                     \
  X(avx512, avx2, "-mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512",                          \
    saves_registers(kZmm) && has_bits(7, 0, kEbx, {16, 17, 30, 31}), false)                                        \
  X(avx2, x86_64, "-mavx2 -mfma",                                                                                  \
    saves_registers(kYmm) && has_bits(1, 0, kEcx, {12}) && has_bits(7, 0, kEbx, {5}), false)                       \
  X(portable, any, "", true, false)
// clang-format on

// Names of the sets that this library is compiled for, in the same order. setup.py defines it.
#if !defined(TFW2V_COMPILED)
#define TFW2V_COMPILED(X) X(portable)
#endif

namespace tfw2v {

// Each function returns whether this machine supports the instruction set of its name.
struct Supports : cpu::Architecture {
#define TFW2V_SUPPORTS(isa, base, flags, supported, slower) \
  static bool isa() {                                       \
    using namespace cpu;                                    \
    return base() && (supported);                           \
  }
  TFW2V_ISAS(TFW2V_SUPPORTS)
};

// Each function returns whether the kernel of its name is slower on this machine than the one for the base.
struct IsSlower {
#define TFW2V_IS_SLOWER(isa, base, flags, supported, slower) \
  static bool isa() {                                        \
    using namespace cpu;                                     \
    return slower;                                           \
  }
  TFW2V_ISAS(TFW2V_IS_SLOWER)
};

}  // namespace tfw2v
