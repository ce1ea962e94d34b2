// The three matrix products of a block of m inputs X [m, D] and C outputs Y [C, D]:
//   Z = X Y' [m, C],  dX = G Y,  dY = G' X
// They are most of skip-gram's multiply-adds. With AVX512-BF16, factors are rounded to bfloat16, and sums
// stay float. dpbf16 adds two products per lane, so factors are packed in pairs along the dimension that is
// summed over: D for Z, C for dX, m for dY.
#pragma once

#include <algorithm>
#include <vector>

#include "buffer.h"
#include "packing.h"
#include "products.h"

namespace tfw2v::TFW2V_ISA {

// g is [m, ld], where ld is a multiple of W. Its columns from C on must be 0.
class BlockProducts {
 public:
  // N, D, stride: vectors per row, floats per row in use, floats from a row to the next. m, C: maximum values
  // of these arguments of the methods.
  BlockProducts(int N, int64_t D, int64_t stride, int m, int C)
      : N(N), D(static_cast<int>(D)), stride(stride), packed_x_(m), packed_y_(C), rows_(m),
        terms_(std::max<int64_t>({D, m, C})), zeros_(std::max(N * W, C + W)) {}

#if defined(__AVX512BF16__)
  // g = x y'. The rows x must be contiguous, `stride` floats apart.
  void scores(const float* const* x, int m, const float* const* y, int C, float* g, int ld) {
    pack(x, m, x_, packed_x_);
    pack(y, C, y_, packed_y_);
    multiply<Bf16x2>(packed_x_[0], (N + 1) / 2 * W, m, packed_y_.data(), C, (D + 1) / 2, g, ld);
  }

  // dx = g y if `begin`, else dx += g y
  template <bool begin>
  void to_inputs(const float* g, int m, const float* const* y, int C, int ld, float* const* dx) {
    const int half = static_cast<int>(rounded(ld, 2 * W) / 2);
    float* along = g_.of(int64_t{m} * half);
    for (int i = 0; i < m; ++i) pack_row(g + i * ld, ld / W, along + i * half);
    const int pairs = pack_pairs(y, C, N, y_);
    weighted_sum<Bf16x2, begin>(along, half, 1, terms_.data(), pairs, dx, m, N);
  }

  // y = g' x if `begin`, else y += g' x
  template <bool begin>
  void to_outputs(const float* g, int m, const float* const* x, int C, int ld, float* const* y) {
    for (int i = 0; i < m; ++i) rows_[i] = const_cast<float*>(g) + i * ld;
    pack_pairs(rows_.data(), m, ld / W, g_);
    const float* across = terms_[0];
    const int pairs = pack_pairs(x, m, N, x_);
    weighted_sum<Bf16x2, begin>(across, 1, ld, terms_.data(), pairs, y, C, N);
  }

 private:
  // Packs the floats of each row in pairs: (N + 1) / 2 vectors per row.
  void pack(const float* const* rows, int number, Buffer& buffer, std::vector<float*>& packed) {
    const int64_t size = (N + 1) / 2 * W;
    float* to = buffer.of(number * size);
    for (int r = 0; r < number; ++r) pack_row(rows[r], N, packed[r] = to + r * size);
  }

  // Packs rows 2r and 2r + 1, of n vectors, as one row of pairs, terms_[r]. A missing last row is 0.
  // Returns the number of packed rows.
  int pack_pairs(const float* const* rows, int number, int n, Buffer& buffer) {
    const int pairs = (number + 1) / 2;
    float* to = buffer.of(int64_t{pairs} * n * W);
    for (int r = 0; r < pairs; ++r) {
      const float* odd = 2 * r + 1 < number ? rows[2 * r + 1] : zeros_.data();
      pack_two_rows(rows[2 * r], odd, n, to + r * n * W);
      terms_[r] = to + r * n * W;
    }
    return pairs;
  }
#else
  void scores(const float* const* x, int m, const float* const* y, int C, float* g, int ld) {
    multiply<Single>(x[0], stride, m, y, C, D, g, ld);
  }
  template <bool begin>
  void to_inputs(const float* g, int m, const float* const* y, int C, int ld, float* const* dx) {
    weighted_sum<Single, begin>(g, ld, 1, y, C, dx, m, N);
  }
  template <bool begin>
  void to_outputs(const float* g, int m, const float* const* x, int C, int ld, float* const* y) {
    weighted_sum<Single, begin>(g, 1, ld, x, m, y, C, N);
  }

 private:
#endif

  // g = x y', where each row has `terms` floats, or pairs. Transposes y, so that lanes are columns of g.
  template <class Product>
  void multiply(const float* x, int64_t stride, int m, const float* const* y, int C, int terms,
                float* g, int ld) {
    float* columns = columns_.of(int64_t{terms} * ld);
    transpose(y, C, terms, columns, ld);
    for (int d = 0; d < terms; ++d) terms_[d] = columns + int64_t{d} * ld;
    for (int i = 0; i < m; ++i) rows_[i] = g + int64_t{i} * ld;
    weighted_sum<Product, true>(x, stride, 1, terms_.data(), terms, rows_.data(), m, ld / W);
  }

  const int N, D;
  const int64_t stride;
  // Pointers: packed_x_, packed_y_ to the packed rows of x_ and y_; rows_ to rows of g; terms_ to the rows
  // that a product sums up.
  std::vector<float*> packed_x_, packed_y_, rows_, terms_;
  std::vector<float> zeros_;
  Buffer x_, y_, g_, columns_;  // packed factors; [terms, ld] y transposed
};

}  // namespace tfw2v::TFW2V_ISA
