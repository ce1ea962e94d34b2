// Checks of the kernels' mathematics against libm and plain loops, for the instruction set TFW2V_ISA. The argument
// names a check. Prints what differs, and exits with 1 if anything does.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "kernels/block.h"
#include "kernels/draws.h"
#include "kernels/ledger.h"
#include "kernels/products.h"

namespace tfw2v::TFW2V_ISA {
namespace {

int failures = 0;

void expect(bool is_true, const char* what, double value, double expected) {
  if (is_true) return;
  if (++failures <= 10) std::printf("%s: %.9g, expected %.9g\n", what, value, expected);
}

void expect_near(const char* what, double value, double expected, double tolerance) {
  expect(std::abs(value - expected) <= tolerance, what, value, expected);
}

// Rows of random floats in [-1/2, 1/2), whose memory has no room after the last.
struct Rows {
  Rows(int n_rows, int n_vectors) : stride(n_vectors * W), memory(n_rows * stride), rows(n_rows) {
    static const int32_t key[2] = {3, 4};
    static Random random(key, kStarts);
    for (float& x : memory) x = static_cast<float>(random.next() >> 40) * 0x1p-24f - .5f;
    for (int r = 0; r < n_rows; ++r) rows[r] = &memory[r * stride];
  }
  Rows(const Rows& other) : stride(other.stride), memory(other.memory), rows(other.rows.size()) {
    for (size_t r = 0; r < rows.size(); ++r) rows[r] = &memory[r * stride];
  }
  double dot(int r, const Rows& y, int c) const {
    double sum = 0;
    for (int d = 0; d < stride; ++d) sum += double{rows[r][d]} * y.rows[c][d];
    return sum;
  }

  int stride;
  std::vector<float> memory;
  std::vector<float*> rows;
};

// Row sizes that cover each number of vectors of a slice, and several slices.
constexpr int kVectors[] = {1, 2, 3, 5, 7, 8, 13, 20};
constexpr double kRounding = 1e-5;

template <class Function, class Expected>
void compare(const char* name, float first, float last, bool is_relative, double tolerance, Function function,
             Expected expected) {
  constexpr int kPoints = 20000;
  for (int i = 0; i < kPoints; i += W) {
    float x[W], result[W];
    for (int l = 0; l < W; ++l) x[l] = first + (last - first) * (i + l) / (kPoints + W);
    store(result, function(load(x)));
    for (int l = 0; l < W; ++l) {
      const double right = expected(double{x[l]});
      expect_near(name, result[l], right, tolerance * (is_relative ? right : 1));
    }
  }
}

// The bounds that vector.h states.
void check_functions() {
  compare("exp", -86.99f, 88.69f, true, 8e-6, [](Vector x) { return exp(x); }, [](double x) { return std::exp(x); });
  const auto logistic = [](double x) { return 1 / (1 + std::exp(-x)); };
  compare("sigmoid", -86.9f, 86.9f, false, 1e-6, [](Vector x) { return sigmoid(x); }, logistic);
  compare("sigmoid", -6, 6, false, 1e-6, [](Vector x) { return sigmoid(x); }, logistic);
  const auto log1p_exp = [](double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); };
  compare("softplus", -10, 10, false, 2e-6, [](Vector x) { return softplus(x); }, log1p_exp);
  for (float x : {0.f, -200.f, -1e30f}) {
    float result[W];
    store(result, softplus(broadcast(x)));
    expect_near("softplus", result[W - 1], log1p_exp(x), 2e-6);
  }
}

void check_lanes() {
  float values[W * W], result[W];
  for (int i = 0; i < W * W; ++i) values[i] = static_cast<float>(i * i % 97);
  Vector rows[W];
  for (int r = 0; r < W; ++r) rows[r] = load(values + r * W);
  store(result, reduce_lanes(rows));
  for (int r = 0; r < W; ++r) {
    float sum = 0;
    for (int l = 0; l < W; ++l) sum += values[r * W + l];
    expect_near("reduce_lanes", result[r], sum, 0);
    expect_near("reduce_add", reduce_add(rows[r]), sum, 0);
  }
  store(result, reduce_lanes<4>(rows));
  for (int r = 4; r < W; ++r) expect_near("lanes after the last", result[r], 0, 0);
  for (int n_rows : {1, W - 1, W + 3})
    for (int n : {1, W, 2 * W + 1}) {
      const Rows x(n_rows, 3);
      const int ld = static_cast<int>(rounded(n_rows, W));
      std::vector<float> columns(n * ld, NAN);
      transpose(x.rows.data(), n_rows, n, columns.data(), ld);
      for (int d = 0; d < n; ++d)
        for (int r = 0; r < ld; ++r) expect_near("transpose", columns[d * ld + r], r < n_rows ? x.rows[r][d] : 0, 0);
    }
}

void check_scores() {
  for (int n_vectors : kVectors)
    for (int n_x : {1, 2, 3, 4, 5, 9})
      for (int n_y : {1, 2, 3, 4, 5, 7, 8, 9, 17}) {
        const Rows x(n_x, n_vectors), y(n_y, n_vectors);
        const int ld = static_cast<int>(rounded(n_y, W));
        std::vector<float> scores(n_x * ld, NAN);
        score(x.rows.data(), n_x, y.rows.data(), n_y, n_vectors, scores.data(), ld);
        for (int r = 0; r < n_x; ++r)
          for (int c = 0; c < ld; ++c)
            expect_near("score", scores[r * ld + c], c < n_y ? x.dot(r, y, c) : 0, kRounding);
      }
  for (int n_vectors : kVectors)
    for (int n_rows : {1, 3, 4, 5, 11}) {
      const Rows x(static_cast<int>(rows_read_by_run(n_rows)), n_vectors), y(1, n_vectors);
      std::vector<float> scores(scores_written_by_run(n_rows));
      score_run(y.rows[0], x.rows[0], x.stride, n_rows, n_vectors, scores.data());
      for (int c = 0; c < n_rows; ++c) expect_near("score_run", scores[c], x.dot(c, y, 0), kRounding);
    }
}

void check_sums() {
  for (int n_vectors : kVectors)
    for (int n_rows : {1, 2, 3, 4, 7})
      for (int n_terms : {1, 2, 9}) {
        const Rows a(n_rows, 9 / W + 1), y(n_terms, n_vectors), before(n_rows, n_vectors);
        Rows sums = before, added = before;
        weighted_sum<Single, true>(a.rows[0], a.stride, 1, y.rows.data(), n_terms, sums.rows.data(), n_rows,
                                   n_vectors);
        weighted_sum(a.rows[0], a.stride, 1, y.rows.data(), n_terms, added.rows.data(), n_rows, n_vectors);
        for (int r = 0; r < n_rows; ++r)
          for (int d = 0; d < y.stride; ++d) {
            double sum = 0;
            for (int k = 0; k < n_terms; ++k) sum += double{a.rows[r][k]} * y.rows[k][d];
            expect_near("weighted_sum", sums.rows[r][d], sum, kRounding);
            expect_near("weighted_sum, added", added.rows[r][d], before.rows[r][d] + sum, kRounding);
          }
      }
}

// The sequence that the top of products.h defines.
void check_backward() {
  for (int n_vectors : kVectors)
    for (int n_y : {1, 4, 5, 6, 11, 21})
      for (int m : {1, 2, 5}) {
        const Rows h(m, n_vectors), g(m, 21 / W + 1), before(n_y, n_vectors);
        Rows y = before, dh(m, n_vectors);
        backward_group(g.rows[0], g.stride, y.rows.data(), n_y, h.rows.data(), m, n_vectors, dh.rows[0], dh.stride);
        Rows single = before;
        float first[7 * W];
        const int n_slice = std::min(n_vectors, kSlice);
        slices<kSlice>(n_slice, [&](auto L, int64_t d) {
          if (d) return;
          Vector sum[L];
          backward<L>(g.rows[0], single.rows.data(), n_y, h.rows[0], d, sum);
          for (int l = 0; l < L; ++l) store(first + l * W, sum[l]);
        });
        std::vector<float> read(h.stride, NAN);
        read_backward<true>(g.rows[0], before.rows.data(), n_y, read.data(), n_vectors);
        for (int d = 0; d < h.stride; ++d) {
          std::vector<double> rows(n_y);
          for (int c = 0; c < n_y; ++c) rows[c] = before.rows[c][d];
          for (int i = 0; i < m; ++i) {
            double sum = 0;
            for (int c = 0; c < n_y; ++c) {
              sum += g.rows[i][c] * rows[c];
              rows[c] += double{g.rows[i][c]} * h.rows[i][d];
            }
            expect_near("backward_group, dh", dh.rows[i][d], sum, kRounding);
            if (i) continue;
            expect_near("read_backward", read[d], sum, kRounding);
            if (d < n_slice * W) expect_near("backward, dh", first[d], sum, kRounding);
            for (int c = 0; c < n_y && d < n_slice * W; ++c)
              expect_near("backward, y", single.rows[c][d], rows[c], kRounding);
          }
          for (int c = 0; c < n_y; ++c) expect_near("backward_group, y", y.rows[c][d], rows[c], kRounding);
        }
      }
}

// With AVX512-BF16, factors have 8 bits.
void check_block() {
#if defined(__AVX512BF16__)
  constexpr double kTolerance = 2e-2;
#else
  constexpr double kTolerance = kRounding;
#endif
  for (int n_vectors : kVectors)
    for (int m : {1, 2, 5, 16})
      for (int Kn : {1, 3, 8, 33}) {
        const int ld = static_cast<int>(rounded(Kn, W));
        const Rows x(m, n_vectors), y(Kn, n_vectors), old_x(m, n_vectors), old_y(Kn, n_vectors);
        Rows g(m, ld / W), dx = old_x, dy = old_y, new_x = old_x, new_y = old_y;
        BlockProducts products(n_vectors, x.stride, x.stride, m, Kn);
        products.scores(x.rows.data(), m, y.rows.data(), Kn, g.rows[0], ld);
        for (int i = 0; i < m; ++i)
          for (int k = 0; k < ld; ++k) {
            expect_near("scores", g.rows[i][k], k < Kn ? x.dot(i, y, k) : 0, kTolerance);
            g.rows[i][k] = k < Kn ? .01f * static_cast<float>(i - k) : 0;
          }
        products.to_inputs<true>(g.rows[0], m, y.rows.data(), Kn, ld, dx.rows.data());
        products.to_inputs<false>(g.rows[0], m, y.rows.data(), Kn, ld, new_x.rows.data());
        products.to_outputs<true>(g.rows[0], m, x.rows.data(), Kn, ld, dy.rows.data());
        products.to_outputs<false>(g.rows[0], m, x.rows.data(), Kn, ld, new_y.rows.data());
        for (int d = 0; d < x.stride; ++d) {
          for (int i = 0; i < m; ++i) {
            double sum = 0;
            for (int k = 0; k < Kn; ++k) sum += double{g.rows[i][k]} * y.rows[k][d];
            expect_near("to_inputs", dx.rows[i][d], sum, kTolerance);
            expect_near("to_inputs, added", new_x.rows[i][d], old_x.rows[i][d] + sum, kTolerance);
          }
          for (int k = 0; k < Kn; ++k) {
            double sum = 0;
            for (int i = 0; i < m; ++i) sum += double{g.rows[i][k]} * x.rows[i][d];
            expect_near("to_outputs", dy.rows[k][d], sum, kTolerance);
            expect_near("to_outputs, added", new_y.rows[k][d], old_y.rows[k][d] + sum, kTolerance);
          }
        }
      }
}

void check_draws() {
  const int32_t key[2] = {5, 6};
  Random random(key, kTokens), same(key, kTokens), other(key, kNegatives);
  expect(random.next() == same.next(), "streams of a key", 0, 1);
  expect(random.next() != other.next(), "streams of two purposes", 0, 1);
  constexpr int kDraws = 140000;
  std::vector<int> counts(7);
  for (int i = 0; i < kDraws; ++i) {
    const uint32_t draw = Random::below(random.next(), 7);
    if (draw < 7) ++counts[draw];
    expect(draw < 7, "below", draw, 6);
  }
  for (int count : counts) expect_near("uniform draws", count, kDraws / 7., 700);  // 5 standard deviations
  expect_near("lowest draw", Random::below(0, 1u << 31), 0, 0);
  expect_near("highest draw", Random::below(~uint64_t{0}, 1u << 31), (1u << 31) - 1., 0);

  // Word w keeps the share w / 6 of its bucket; the rest is the next word's.
  constexpr int V = 6;
  std::vector<float> keep(V, 1.f);
  std::vector<int32_t> noise;
  std::vector<double> expected(V);
  for (int w = 0; w < V; ++w) {
    const int alias = (w + 2) % V;  // of the same shard, with two shards
    noise.push_back(static_cast<int32_t>(0x80000000u / 6 * w));
    noise.push_back(alias);
    expected[w] += w / 6. / V;
    expected[alias] += (1 - w / 6.) / V;
  }
  const Tfw2vNoiseTable words = {{keep.data(), V}, {noise.data(), 2 * V}};
  for (int shards : {1, 2}) {
    Tfw2vOptions options = {};
    options.negative = 5;
    options.shards = shards;
    options.shared = 7;
    std::vector<int32_t> negatives(kDraws);
    draw_noise(words, options, random, negatives);
    std::vector<int> times(V);
    std::vector<int> shard_times(shards);
    for (int i = 0; i < kDraws; ++i) {
      expect(negatives[i] >= 0 && negatives[i] < V, "negative", negatives[i], V);
      expect_near("shard of a negative", negatives[i] % shards, i % options.shared % shards, 0);
      ++times[negatives[i]];
      ++shard_times[negatives[i] % shards];
    }
    std::vector<double> share(shards);
    for (int w = 0; w < V; ++w) share[w % shards] += expected[w];
    for (int w = 0; w < V; ++w)
      expect_near("frequency", times[w], shard_times[w % shards] * expected[w] / share[w % shards], 800);
  }
}

// One update more than the maximum: ends the process by an assertion.
void check_assertions() {
  Ledger ledger(1, W);
  Rows rows(1, 1);
  ledger.record(rows.rows[0]);
  std::puts("one update");
  std::fflush(stdout);
  ledger.record(rows.rows[0]);
}

int run(const char* name) {
  const struct {
    const char* name;
    void (*check)();
  } checks[] = {{"functions", check_functions}, {"lanes", check_lanes},          {"scores", check_scores},
                {"sums", check_sums},           {"backward", check_backward},    {"block", check_block},
                {"draws", check_draws},         {"assertions", check_assertions}};
  for (const auto& each : checks)
    if (!std::strcmp(each.name, name)) {
      each.check();
      return failures > 0;
    }
  std::printf("no check %s\n", name);
  return 2;
}

}  // namespace
}  // namespace tfw2v::TFW2V_ISA

int main(int, char** arguments) { return tfw2v::TFW2V_ISA::run(arguments[1]); }
