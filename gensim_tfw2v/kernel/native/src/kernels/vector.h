// Vectors of W floats, as wide as the processor's registers, by the vector extensions of GCC and Clang.
//
//   exp(x)      = 2^k 2^f, k = round(x / log 2), f = x / log 2 - k. 2^f is a polynomial of degree 5 in f.
//                 Relative error below 8e-6 for -87 < x < 88.7. Otherwise, the result is arbitrary.
//   sigmoid(x)  = 1 / (1 + exp(-x)). Error below 1e-6 for abs(x) < 87. Otherwise, the result is arbitrary.
//                 Trainer::coefficients() uses it only where abs(x) is below a limit, which is at most 80.
//   softplus(x) = log(1 + exp(x)) = max(x, 0) + 2 atanh(t / (2 + t)), t = exp(-abs(x)). Error below 2e-6
//                 for all finite x. atanh is its power series up to the term of degree 13.
// Errors were measured against double, at 4e7 values of x, with and without FMA.
#pragma once
#include <cstdint>
#include <utility>

#include "checked.h"

#if defined(__AVX512F__)
#define TFW2V_WIDTH 16
#elif defined(__AVX2__)
#define TFW2V_WIDTH 8
#else
#define TFW2V_WIDTH 4
#endif

namespace tfw2v::TFW2V_ISA {

constexpr int W = TFW2V_WIDTH;
typedef float Vector __attribute__((vector_size(4 * W), aligned(4), may_alias));
typedef int32_t Integers __attribute__((vector_size(4 * W), aligned(4), may_alias));
typedef uint32_t Bits __attribute__((vector_size(4 * W), aligned(4), may_alias));

static inline Vector broadcast(float x) { return x - Vector{}; }  // costs nothing: x - 0 is x, even for -0
static inline Vector load(const float* p) { return *reinterpret_cast<const Vector*>(p); }
static inline void store(float* p, Vector x) { *reinterpret_cast<Vector*>(p) = x; }
static inline Vector max(Vector a, Vector b) { return a < b ? b : a; }  // max(NaN, b) is NaN
static inline Vector abs(Vector x) { return x < Vector{} ? -x : x; }

template <class Mask, int... I>
static inline Vector shuffle_lanes(Vector a, Vector b, std::integer_sequence<int, I...>) {
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(a, b, Mask::at(I)...);
#else
  return __builtin_shuffle(a, b, Integers{Mask::at(I)...});
#endif
}
// Calls `use` with 0 .. n - 1 as compile-time constants. In plain loops GCC keeps small arrays of vectors in
// memory, and zeroes and copies them.
template <int... I, class Use>
static inline __attribute__((always_inline)) void unroll_each(std::integer_sequence<int, I...>, Use use) {
  (use(std::integral_constant<int, I>()), ...);
}
template <int n, class Use>
static inline __attribute__((always_inline)) void unroll(Use use) {
  unroll_each(std::make_integer_sequence<int, n>(), use);
}

// Calls `use` with `truth` as a compile-time constant.
template <class Use>
static inline void dispatch_bool(bool truth, Use use) {
  if (truth)
    use(std::true_type());
  else
    use(std::false_type());
}

// Calls `use` with min(value, max) as a compile-time constant. `value` is at least 1.
template <int max, class Use>
static inline void dispatch_constant(int value, Use use) {
  TFW2V_ASSERT(value >= 1);
  if constexpr (max > 1)
    if (value < max) return dispatch_constant<max - 1>(value, use);
  use(std::integral_constant<int, max>());
}

// Lane i of the result is lane Mask::at(i) of the concatenation of a and b.
template <class Mask>
static inline Vector shuffle(Vector a, Vector b) {
  return shuffle_lanes<Mask>(a, b, std::make_integer_sequence<int, W>());
}

// Masks of `reduce_lanes`. Per quad (four lanes): a0 b0 a1 b1 (lower), or a2 b2 a3 b3 (upper).
template <int upper> struct Interleaved {
  static constexpr int at(int i) { return i / 4 * 4 + 2 * upper + i % 4 / 2 + (i % 2 ? W : 0); }
};
// Per quad: a0 a1 b0 b1 (lower), or a2 a3 b2 b3 (upper).
template <int upper> struct Paired {
  static constexpr int at(int i) { return i / 4 * 4 + 2 * upper + i % 2 + (i % 4 / 2 ? W : 0); }
};
// Quads 0, 2, .. (even) or 1, 3, .. (odd) of a, then of b.
template <int odd> struct Quads {
  static constexpr int at(int i) {
    const int quad = 2 * (i / 4) + odd, quads = W / 4;
    return quad % quads * 4 + i % 4 + (quad / quads ? W : 0);
  }
};

// Adds up the quads of n vectors, pair by pair, into x[0]: the last part of reduce_lanes.
template <int n>
static inline __attribute__((always_inline)) void add_quads(Vector* x) {
  unroll<n / 2>([&](auto q) {
    const Vector a = x[2 * q], b = x[2 * q + 1];
    x[q] = shuffle<Quads<0>>(a, b) + shuffle<Quads<1>>(a, b);
  });
  if constexpr (n > 2) add_quads<n / 2>(x);
}

// Transposing reduction: lane i is the sum of the lanes of a[i]. Reads only the first n_used vectors, rounded
// up to a multiple of 4, and sets the remaining lanes to 0. For four vectors p, q, r, s, in each quad:
//   low  = p0+p2 q0+q2 p1+p3 q1+q3   of p and q (Interleaved)
//   high = r0+r2 s0+s2 r1+r3 s1+s3   of r and s (Interleaved)
//   sums = p     q     r     s       of low and high (Paired), each the sum of four lanes
// add_quads then adds up the W / 4 quads of each vector.
template <int n_used = W>
static inline __attribute__((always_inline)) Vector reduce_lanes(const Vector* a) {
  Vector sums[W / 4];
  unroll<W / 4>([&](auto q) {
    sums[q] = Vector{};
    if constexpr (4 * q < n_used) {
      const Vector* x = a + 4 * q;
      const Vector low = shuffle<Interleaved<0>>(x[0], x[1]) + shuffle<Interleaved<1>>(x[0], x[1]);
      const Vector high = shuffle<Interleaved<0>>(x[2], x[3]) + shuffle<Interleaved<1>>(x[2], x[3]);
      sums[q] = shuffle<Paired<0>>(low, high) + shuffle<Paired<1>>(low, high);
    }
  });
  if constexpr (W > 4) add_quads<W / 4>(sums);
  return sums[0];
}

static inline Vector exp(Vector x) {
  const Vector t = x * 1.44269504f, magic = broadcast(12582912.f);  // adding 1.5 * 2^23 rounds t
  const Vector rounded = t + magic, f = t - (rounded - magic);
  Vector p = broadcast(1.3333558e-3f);
  for (float c : {9.6181291e-3f, 5.5504109e-2f, 2.4022651e-1f, 6.9314718e-1f, 1.f}) p = p * f + c;
  // the lowest bits of `rounded` are k: shifted left by 23, they are added to the exponent of 2^f
  return reinterpret_cast<Vector>(reinterpret_cast<Bits>(p) + (reinterpret_cast<Bits>(rounded) << 23));
}

static inline Vector sigmoid(Vector x) { return 1.f / (1.f + exp(-x)); }

// log(1 + e^x): loss of a prediction with score -x for its label.
static inline Vector softplus(Vector x) {
  const Vector t = exp(max(-abs(x), broadcast(-80.f))), s = t / (2.f + t), s2 = s * s;  // atanh(s)
  Vector p = broadcast(1.f / 13);
  for (float c : {1.f / 11, 1.f / 9, 1.f / 7, 1.f / 5, 1.f / 3, 1.f}) p = p * s2 + c;
  return max(x, Vector{}) + 2.f * s * p;
}

static inline float reduce_add(Vector x) {
  for (int half = W / 2; half; half /= 2)
    for (int i = 0; i < half; ++i) x[i] += x[i + half];
  return x[0];
}

// Prefetches a row of `size` elements. A row that is only read (to_write = 0) stays in the caches of
// other cores, too.
template <int to_write = 1, class T>
static inline void prefetch(const T* row, int64_t size) {
  constexpr int kLine = 64 / sizeof(T);
  const T* end = row + size;
  for (; end - row >= 4 * kLine; row += 4 * kLine)
    for (int line = 0; line < 4; ++line) __builtin_prefetch(row + line * kLine, to_write, 2);
  for (; row < end; row += kLine) __builtin_prefetch(row, to_write, 2);
  __asm__ volatile("");  // else GCC drops calls: it sees no side effect in prefetches
}

}  // namespace tfw2v::TFW2V_ISA
