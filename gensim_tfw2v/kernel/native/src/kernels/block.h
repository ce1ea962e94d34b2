// The three matrix products of a block of m inputs X [m, D] and Kn outputs Y [Kn, D]:
//   Z = X Y' [m, Kn],  dX = G Y,  dY = G' X
// They are most of skip-gram's multiply-adds. With AVX512-BF16, factors are rounded to bfloat16, and sums
// stay float. dpbf16 adds two products per lane, so factors are packed in pairs along the dimension that is
// summed over: D for Z, Kn for dX, m for dY.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/buffer.h"
#include "kernels/packing.h"
#include "kernels/products.h"

namespace tfw2v::TFW2V_ISA {

// Computes the three products. Their argument g is Z or G with padding: [m, ld], where ld is Kn rounded up to a
// multiple of W. Columns of G from Kn on must be 0.
class BlockProducts {
 public:
  // n_vectors: vectors per row. D: floats per row in use. stride: floats from a row to the next. max_m, max_Kn:
  // maximum values of the methods' arguments m and Kn.
  BlockProducts(int n_vectors, int64_t D, int64_t stride, int max_m, int max_Kn)
      : n_vectors(n_vectors), D(static_cast<int>(D)), stride(stride), packed_x_(max_m), packed_y_(max_Kn),
        rows_(max_m), terms_(std::max<int64_t>({D, max_m, max_Kn})), zeros_(std::max(n_vectors * W, max_Kn + W)) {}

#if defined(__AVX512BF16__)
  // g = x y'. The rows x must be contiguous, `stride` floats apart.
  void scores(const float* const* x, int m, const float* const* y, int Kn, float* g, int ld) {
    check_sizes(m, Kn, ld);
    pack(x, m, x_, packed_x_);
    pack(y, Kn, y_, packed_y_);
    multiply<Bf16x2>(packed_x_[0], (n_vectors + 1) / 2 * W, m, packed_y_.data(), Kn, (D + 1) / 2, g, ld);
  }

  // dx = g y if `begin`, else dx += g y
  template <bool begin>
  void to_inputs(const float* g, int m, const float* const* y, int Kn, int ld, float* const* dx) {
    check_sizes(m, Kn, ld);
    const int half = static_cast<int>(rounded(ld, 2 * W) / 2);
    float* along = g_.of(int64_t{m} * half);
    for (int i = 0; i < m; ++i) pack_row(g + i * ld, ld / W, along + i * half);
    const int pairs = pack_pairs(y, Kn, n_vectors, y_);
    weighted_sum<Bf16x2, begin>(along, half, 1, terms_.data(), pairs, dx, m, n_vectors);
  }

  // y = g' x if `begin`, else y += g' x
  template <bool begin>
  void to_outputs(const float* g, int m, const float* const* x, int Kn, int ld, float* const* y) {
    check_sizes(m, Kn, ld);
    for (int i = 0; i < m; ++i) rows_[i] = const_cast<float*>(g) + i * ld;
    pack_pairs(rows_.data(), m, ld / W, g_);
    const float* across = terms_[0];
    const int pairs = pack_pairs(x, m, n_vectors, x_);
    weighted_sum<Bf16x2, begin>(across, 1, ld, terms_.data(), pairs, y, Kn, n_vectors);
  }

 private:
  // Packs the floats of each row in pairs: (n_vectors + 1) / 2 vectors per row.
  void pack(const float* const* rows, int n_rows, Buffer& buffer, std::vector<float*>& packed) {
    const int64_t size = (n_vectors + 1) / 2 * W;
    float* to = buffer.of(n_rows * size);
    for (int r = 0; r < n_rows; ++r) pack_row(rows[r], n_vectors, packed[r] = to + r * size);
  }

  // Packs rows 2r and 2r + 1, of n vectors, as one row of pairs, terms_[r]. A missing last row is 0.
  // Returns the number of packed rows.
  int pack_pairs(const float* const* rows, int n_rows, int n, Buffer& buffer) {
    const int n_pairs = (n_rows + 1) / 2;
    float* to = buffer.of(int64_t{n_pairs} * n * W);
    for (int r = 0; r < n_pairs; ++r) {
      const float* odd = 2 * r + 1 < n_rows ? rows[2 * r + 1] : zeros_.data();
      pack_two_rows(rows[2 * r], odd, n, to + r * n * W);
      terms_[r] = to + r * n * W;
    }
    return n_pairs;
  }
#else
  void scores(const float* const* x, int m, const float* const* y, int Kn, float* g, int ld) {
    check_sizes(m, Kn, ld);
    multiply<Single>(x[0], stride, m, y, Kn, D, g, ld);
  }
  template <bool begin>
  void to_inputs(const float* g, int m, const float* const* y, int Kn, int ld, float* const* dx) {
    check_sizes(m, Kn, ld);
    weighted_sum<Single, begin>(g, ld, 1, y, Kn, dx, m, n_vectors);
  }
  template <bool begin>
  void to_outputs(const float* g, int m, const float* const* x, int Kn, int ld, float* const* y) {
    check_sizes(m, Kn, ld);
    weighted_sum<Single, begin>(g, 1, ld, x, m, y, Kn, n_vectors);
  }

 private:
#endif

  // Asserts that m and Kn are at most max_m and max_Kn, and that ld is Kn rounded up to a multiple of W.
  void check_sizes([[maybe_unused]] int m, [[maybe_unused]] int Kn, [[maybe_unused]] int ld) const {
    TFW2V_ASSERT(m <= static_cast<int>(packed_x_.size()) && Kn <= static_cast<int>(packed_y_.size()));
    TFW2V_ASSERT(ld % W == 0 && ld >= Kn && ld < Kn + W);
  }

  // g = x y', where each row has `terms` floats, or pairs. Transposes y, so that lanes are columns of g.
  template <class Product>
  void multiply(const float* x, int64_t stride, int m, const float* const* y, int Kn, int terms, float* g, int ld) {
    float* columns = columns_.of(int64_t{terms} * ld);
    transpose(y, Kn, terms, columns, ld);
    for (int d = 0; d < terms; ++d) terms_[d] = columns + int64_t{d} * ld;
    for (int i = 0; i < m; ++i) rows_[i] = g + int64_t{i} * ld;
    weighted_sum<Product, true>(x, stride, 1, terms_.data(), terms, rows_.data(), m, ld / W);
  }

  const int n_vectors, D;
  [[maybe_unused]] const int64_t stride;
  std::vector<float*> packed_x_, packed_y_;  // packed rows, in x_ and y_
  std::vector<float*> rows_;                 // rows of g
  std::vector<float*> terms_;                // rows whose weighted sum a product computes
  std::vector<float> zeros_;                 // second row of the last pair, if the number of rows is odd
  Buffer x_, y_, g_;                         // packed factors of a product
  Buffer columns_;                           // [terms, ld] y of multiply(), transposed
};

}  // namespace tfw2v::TFW2V_ISA
