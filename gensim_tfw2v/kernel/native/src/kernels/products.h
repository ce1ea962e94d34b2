// Products of rows, which are passed as arrays of pointers. n_vectors: vectors per row.
//   score           z[r][c] = x[r] . y[c]
//   weighted_sum    out[r] += sum over k of a[r][k] y[k]. Computes dx = g y and dy = g' x
//   backward        for one hidden layer h, and for c in order: dh += g[c] y[c], then y[c] += g[c] h
//   backward_group  backward for several hidden layers, in order, with the same rows y
//   read_backward   backward without updates of y
// Tiles and slices of rows are small, so that sums stay in registers: AVX2 has 16 registers, AVX-512 32.
#pragma once
#include <algorithm>
#include <cstring>

#include "kernels/vector.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

namespace tfw2v::TFW2V_ISA {

// Vectors per slice. `backward` keeps two slices in registers.
constexpr int kSlice = 7;

// Calls use(l, d) for each slice of rows of n_vectors vectors. The slice has l vectors (a compile-time constant, at
// most L), and begins at float d of a row.
template <int L, class Use>
static inline void slices(int n_vectors, Use use, int64_t d = 0) {
  for (; n_vectors >= L; n_vectors -= L, d += L * W) use(std::integral_constant<int, L>(), d);
  if constexpr (L > 1) slices<L - 1>(n_vectors, use, d);
}

// Columns of a tile of n_x rows of scores.
template <int n_x> constexpr int kColumns = n_x == 1 && W > 4 ? 8 : 4;

// scores[r * ld + c] = x[r] . y[c] for n_x rows and n_y columns, and 0 for columns n_y to kColumns<n_x> - 1.
template <int n_x, int n_y>
static inline void score_tile(const float* const* x, const float* const* y, int n_vectors, float* scores,
                              int64_t ld) {
  constexpr int n_columns = kColumns<n_x>,
                n_reduced_rows = std::min(n_x, std::max(1, W / n_columns));  // rows reduced together
  Vector sum[(n_x + n_reduced_rows - 1) / n_reduced_rows * W];
  unroll<n_x * n_columns>([&](auto i) { sum[i] = Vector{}; });
  for (int64_t d = 0, end = int64_t{n_vectors} * W; d < end; d += W) {
    Vector v[n_x];
    unroll<n_x>([&](auto r) { v[r] = load(x[r] + d); });
    unroll<n_y>([&](auto c) {
      const Vector w = load(y[c] + d);
      unroll<n_x>([&](auto r) { sum[r * n_columns + c] += v[r] * w; });
    });
  }
  unroll<(n_x + n_reduced_rows - 1) / n_reduced_rows>([&](auto i) {
    constexpr int first = i * n_reduced_rows, rows = std::min(n_x - first, n_reduced_rows);
    float row_scores[W];
    store(row_scores, reduce_lanes<rows * n_columns>(sum + first * n_columns));
    unroll<rows>([&](auto r) {
      std::memcpy(scores + (first + r) * ld, row_scores + r * n_columns, n_columns * sizeof(float));
    });
  });
}

// score_tile for any number of columns. It is separate from `score`, because GCC generates slow code for
// nested lambdas.
template <int n_x>
static inline void score_rows(const float* const* x, const float* const* y, int columns, int n_vectors, float* scores,
                              int64_t ld) {
  constexpr int n_columns = kColumns<n_x>;
  for (int c = 0; c < columns; c += n_columns)
    dispatch_constant<n_columns>(columns - c,
                                 [&](auto n_y) { score_tile<n_x, n_y>(x, y + c, n_vectors, scores + c, ld); });
}

// scores[r * ld + c] = x[r] . y[c]. Further columns, up to a multiple of W, are 0.
static inline void score(const float* const* x, int rows, const float* const* y, int columns, int n_vectors,
                         float* scores, int64_t ld) {
  constexpr int kRows = W == 16 ? 4 : 3;
  for (int r = 0, tile; r < rows; r += tile) {
    tile = rows - r == kRows + 1 ? kRows - 1 : std::min(kRows, rows - r);  // a tile of one row is slower
    dispatch_constant<kRows>(tile,
                             [&](auto n_x) { score_rows<n_x>(x + r, y, columns, n_vectors, scores + r * ld, ld); });
  }
  for (int r = 0; r < rows; ++r)
    for (int c = columns; c % W; ++c) scores[r * ld + c] = 0.f;
}

// Rows that score_run reads at a time.
constexpr int kRunRows = 4;
// Number of rows that score_run reads if it is called for n_rows rows.
constexpr int64_t rows_read_by_run(int64_t n_rows) { return (n_rows + kRunRows - 1) / kRunRows * kRunRows; }
// Number of scores that score_run then writes.
constexpr int64_t scores_written_by_run(int64_t n_rows) {
  return n_rows ? rows_read_by_run(n_rows) - kRunRows + W : 0;
}

// scores[c] = y . x[c] for n_rows rows x[c], which are `stride` floats apart. Rows after the last must be readable,
// up to rows_read_by_run(n_rows). Scores after the last are overwritten by arbitrary ones, up to
// scores_written_by_run(n_rows).
static inline void score_run(const float* y, const float* x, int64_t stride, int n_rows, int n_vectors,
                             float* scores) {
  for (int c = 0; c < n_rows; c += kRunRows, x += kRunRows * stride) {
    alignas(64) Vector sum[W] = {};
    for (int64_t d = 0; d < n_vectors * W; d += W) {
      const Vector v = load(y + d);
      for (int r = 0; r < kRunRows; ++r) sum[r] += v * load(x + r * stride + d);
    }
    store(scores + c, reduce_lanes<kRunRows>(sum));
  }
}

// Elements of weighted_sum: floats, or pairs of bfloat16 whose products are added up.
struct Single {
  static inline Vector multiplied(float a, Vector b, Vector sum) { return sum + a * b; }
};
#if defined(__AVX512BF16__)
struct Bf16x2 {
  // Never use a pair in float arithmetic. If its second half is 0, it is a denormal float, which
  // TensorFlow's threads flush to 0.
  static inline Vector multiplied(float a, Vector b, Vector sum) {
    return (Vector)_mm512_dpbf16_ps((__m512)sum, (__m512bh)_mm512_set1_ps(a), (__m512bh)b);
  }
};
#endif

// Backward pass of one hidden layer h, for L vectors of each row from float d on. For c in order:
// dh += g[c] y[c], then y[c] += g[c] h.
template <int L>
static inline void backward(const float* g, float* const* y, int rows, const float* h, int64_t d, Vector (&dh)[L]) {
  Vector own[L];
  unroll<L>([&](auto l) { own[l] = load(h + d + l * W), dh[l] = Vector{}; });
  for (int c = 0; c < rows; ++c) {
    float* row = y[c] + d;
    const Vector factor = broadcast(g[c]);
    unroll<L>([&](auto l) {
      const Vector before = load(row + l * W);
      dh[l] += factor * before;
      store(row + l * W, before + factor * own[l]);
    });
  }
}

// backward_group for n_y rows, and L vectors of each from float d on. Adds to dh unless `begin`.
template <bool begin, int n_y, int L>
static inline void backward_tile(const float* g, int ld, float* const* y, const float* const* h, int m, int64_t d,
                                 float* dh, int64_t stride) {
  float* at[n_y];
  Vector rows[n_y][L];
  unroll<n_y>([&](auto c) {
    at[c] = y[c] + d;
    unroll<L>([&](auto l) { rows[c][l] = load(at[c] + l * W); });
  });
  for (int i = 0; i < m; ++i, g += ld, dh += stride) {
    const float* from = h[i] + d;
    Vector own[L], sum[L];
    unroll<L>([&](auto l) {
      own[l] = load(from + l * W);
      sum[l] = begin ? Vector{} : load(dh + l * W);
    });
    unroll<n_y>([&](auto c) {
      const Vector factor = broadcast(g[c]);
      unroll<L>([&](auto l) {
        sum[l] += factor * rows[c][l];
        rows[c][l] += factor * own[l];
      });
    });
    unroll<L>([&](auto l) { store(dh + l * W, sum[l]); });
  }
  unroll<n_y>([&](auto c) { unroll<L>([&](auto l) { store(at[c] + l * W, rows[c][l]); }); });
}

// Backward pass of m hidden layers h[i] that predict the same rows y, which must differ. For i in order, and
// each c: dh[i] += g[i * ld + c] y[c], then y[c] += g[i * ld + c] h[i]. Overwrites dh, whose rows are `stride`
// floats apart.
static inline void backward_group(const float* g, int ld, float* const* y, int columns, const float* const* h, int m,
                                  int n_vectors, float* dh, int64_t stride) {
  constexpr int max_rows = W == 16 ? 10 : 5, L = 2;  // rows of a tile, and vectors of each, stay in registers
  const int tiles = (columns + max_rows - 1) / max_rows, size = (columns + tiles - 1) / tiles;
  for (int c = 0; c < columns; c += size)
    dispatch_constant<max_rows>(std::min(size, columns - c), [&](auto n_y) {
      dispatch_bool(!c, [&](auto begin) {
        slices<L>(n_vectors, [&](auto l, int64_t d) {
          backward_tile<begin, n_y, l>(g + c, ld, y + c, h, m, d, dh + d, stride);
        });
      });
    });
}

// weighted_sum for n_x rows, and L vectors of each from float d on.
template <class Product, bool begin, int n_x, int L>
static inline void weighted_sum_tile(const float* a, int64_t by_row, int64_t by_k, const float* const* y, int terms,
                                     float* const* out, int64_t d) {
  Vector sum[n_x][L] = {};
  for (int k = 0; k < terms; ++k) {
    Vector v[L];
    for (int l = 0; l < L; ++l) v[l] = load(y[k] + d + l * W);
    for (int r = 0; r < n_x; ++r)
      for (int l = 0; l < L; ++l) sum[r][l] = Product::multiplied(a[r * by_row + k * by_k], v[l], sum[r][l]);
  }
  for (int r = 0; r < n_x; ++r)
    for (int l = 0; l < L; ++l) {
      float* to = out[r] + d + l * W;
      store(to, begin ? sum[r][l] : load(to) + sum[r][l]);
    }
}

template <class Product, bool begin, int n_x>
static inline void weighted_sum_rows(const float* a, int64_t by_row, int64_t by_k, const float* const* y, int terms,
                                     float* const* out, int n_vectors) {
  constexpr int L = n_x == 1 || (n_x == 2 && W != 8) ? 7 : W == 8 && n_x == 4 ? 3 : 4;
  slices<L>(n_vectors,
            [&](auto l, int64_t d) { weighted_sum_tile<Product, begin, n_x, l>(a, by_row, by_k, y, terms, out, d); });
}

// For each row r: out[r] += sum over k < terms of a[r * by_row + k * by_k] * y[k]. With `begin`, out[r] is
// overwritten with the sum.
template <class Product = Single, bool begin = false>
static inline void weighted_sum(const float* a, int64_t by_row, int64_t by_k, const float* const* y, int terms,
                                float* const* out, int rows, int n_vectors) {
  // Without dispatch_constant: with it, GCC does not inline the loop over four rows, and skip-gram is 4 %
  // slower.
  int r = 0;
  for (; r + 4 <= rows; r += 4)
    weighted_sum_rows<Product, begin, 4>(a + r * by_row, by_row, by_k, y, terms, out + r, n_vectors);
  for (; r + 2 <= rows; r += 2)
    weighted_sum_rows<Product, begin, 2>(a + r * by_row, by_row, by_k, y, terms, out + r, n_vectors);
  if (r < rows) weighted_sum_rows<Product, begin, 1>(a + r * by_row, by_row, by_k, y, terms, out + r, n_vectors);
}

// Backward pass that only reads the rows y: dh += sum over c of g[c] y[c], or dh = the sum if `begin`. Not
// inlined, because larger callers would be slower.
template <bool begin>
[[gnu::noinline]] static void read_backward(const float* g, const float* const* y, int rows, float* dh,
                                            int n_vectors) {
  weighted_sum<Single, begin>(g, 0, 1, y, rows, &dh, 1, n_vectors);
}

}  // namespace tfw2v::TFW2V_ISA
