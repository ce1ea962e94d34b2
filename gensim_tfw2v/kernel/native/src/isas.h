// Instruction sets that the kernels are compiled for, fastest first. setup.py reads this list, and passes those
// that this compiler supports as TFW2V_COMPILED.
#pragma once

#define TFW2V_ISAS(X) \
  X(avx512bf16)       \
  X(avx512)           \
  X(avx2)             \
  X(portable)
#if !defined(TFW2V_COMPILED)
#define TFW2V_COMPILED(X) X(portable)
#endif
