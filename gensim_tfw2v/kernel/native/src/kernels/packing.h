// Rows rearranged for products: transposed, or in pairs of bfloat16.
//
// A W x W block is transposed recursively: [A B; C D]' = [A' C'; B' D']. swap_halves<W / 2> swaps B and
// C, and swap_halves<W / 4> then does the same within all four quarters.
//
// _mm512_dpbf16_ps adds two products per lane, so a pair holds neighbours in the dimension summed over:
//   scores x y'   pairs of D: pack_row of x and y
//   dx = g y      pairs of Kn (negatives): pack_row of g, pack_two_rows of y
//   dy = g' x     pairs of m (positions): pack_two_rows of g and x
#pragma once
#include "kernels/vector.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

namespace tfw2v::TFW2V_ISA {

// Masks of `shuffle`. They select the lanes of a and b whose index has the bit `half` unset (WithoutBit) or set
// (WithBit).
template <int half> struct WithoutBit {
  static constexpr int at(int i) { return i & half ? W + i - half : i; }
};
template <int half> struct WithBit {
  static constexpr int at(int i) { return i & half ? W + i : i + half; }
};

// Transposes, in place, each aligned (2 * half) x (2 * half) block of a W x W matrix: swaps its off-diagonal quarters,
// then recurses.
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

// out[d * ld + r] = x[r][d] for d < n, and 0 for r from `rows` up to ld, a multiple of W. Whole vectors
// are read, so rows need room for n rounded up to W.
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
// Packs a row of n vectors as (n + 1) / 2 vectors of pairs: pair i is (row[2 i], row[2 i + 1]) in
// bfloat16.
static inline void pack_row(const float* row, int n, float* packed) {
  for (int d = 0; d < n; d += 2) {
    const Vector next = d + 1 < n ? load(row + (d + 1) * W) : Vector{};
    store(packed + d / 2 * W, (Vector)_mm512_cvtne2ps_pbh((__m512)next, (__m512)load(row + d * W)));
  }
}

// Packs two rows of n vectors as n vectors of pairs: pair i is (even[i], odd[i]) in bfloat16.
static inline void pack_two_rows(const float* even, const float* odd, int n, float* packed) {
  alignas(64) static const uint16_t order[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i at = _mm512_load_si512(order);
  for (int d = 0; d < n * W; d += W) {
    const __m512bh both = _mm512_cvtne2ps_pbh((__m512)load(odd + d), (__m512)load(even + d));
    store(packed + d, (Vector)_mm512_permutexvar_epi16(at, (__m512i)both));
  }
}
#endif

}  // namespace tfw2v::TFW2V_ISA
