// Rows rearranged for products: transposed, or in pairs of bfloat16.
#pragma once
#include "vector.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

namespace tfw2v::TFW2V_ISA {

// Lanes whose number lacks the bit `half` of a and b, and those that have it.
template <int half> struct WithoutBit {
  static constexpr int at(int i) { return i & half ? W + i - half : i; }
};
template <int half> struct WithBit {
  static constexpr int at(int i) { return i & half ? W + i : i + half; }
};

template <int half>
static inline void swap_halves(Vector v[W]) {
  for (int r = 0; r < W; ++r) {
    if (r & half) continue;
    const Vector a = v[r], b = v[r + half];
    v[r] = shuffle<WithoutBit<half>>(a, b);
    v[r + half] = shuffle<WithBit<half>>(a, b);
  }
  if constexpr (half > 1) swap_halves<half / 2>(v);
}

// out[d * ld + r] = x[r][d] for the first n numbers of each row, and zeros from `rows` up to ld.
// Rows have room for n, and ld is, a multiple of W.
static inline void transpose(const float* const* x, int rows, int n, float* out, int ld) {
  for (int first = 0; first < ld; first += W)
    for (int d = 0; d < n; d += W) {
      Vector v[W];
      for (int r = 0; r < W; ++r) v[r] = first + r < rows ? load(x[first + r] + d) : Vector{};
      swap_halves<W / 2>(v);
      for (int i = 0; i < W && d + i < n; ++i) store(out + (d + i) * int64_t{ld} + first, v[i]);
    }
}

#if defined(__AVX512BF16__)
// Packs a row's floats in pairs of bfloat16: n vectors make (n + 1) / 2.
static inline void pack_row(const float* row, int n, float* packed) {
  for (int d = 0; d < n; d += 2) {
    const Vector next = d + 1 < n ? load(row + (d + 1) * W) : Vector{};
    store(packed + d / 2 * W, (Vector)_mm512_cvtne2ps_pbh((__m512)next, (__m512)load(row + d * W)));
  }
}

// Packs two rows of n vectors in pairs of bfloat16: one of each.
static inline void pack_two_rows(const float* even, const float* odd, int n, float* packed) {
  alignas(64) static const uint16_t order[32] = {
      0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i at = _mm512_load_si512(order);
  for (int d = 0; d < n * W; d += W) {
    const __m512bh both = _mm512_cvtne2ps_pbh((__m512)load(odd + d), (__m512)load(even + d));
    store(packed + d, (Vector)_mm512_permutexvar_epi16(at, (__m512i)both));
  }
}
#endif

}  // namespace tfw2v::TFW2V_ISA
