// Draws and trains a small unit, and prints the result. Tests kernels for processors without Python.
#include <cstdio>
#include <vector>

#include "kernels/draws.h"

namespace {

constexpr int V = 50, D = 20, stride = 32;

std::vector<float> table(uint64_t purpose) {
  const int32_t key[2] = {7, 7};
  tfw2v::Random random(key, purpose);
  std::vector<float> rows(V * stride);
  for (int row = 0; row < V; ++row)
    for (int d = 0; d < D; ++d) rows[row * stride + d] = (random.next() >> 40) * 0x1p-24f - .5f;
  return rows;
}

void train(bool skipgram) {
  const Tfw2vOptions options = {skipgram, 5, 0, 1, 0, 1, 1, 1, 5, 5, 16, 8, 1, 0, 4};
  std::vector<int32_t> entries, noise;
  for (int i = 0; i < 400; ++i) entries.push_back(i % 41 == 40 ? -1 : i * i % V);
  for (int word = 0; word < V; ++word) noise.insert(noise.end(), {0x7FFFFFFF, word});
  const std::vector<float> keep(V, .8f);
  const Tfw2vNoiseTable words = {{keep.data(), V}, {noise.data(), 2 * V}};
  const int32_t numbers[2] = {1, 2};
  const Tfw2vInts key = {numbers, 2}, all = {entries.data(), static_cast<int64_t>(entries.size())};
  Tfw2vUnit unit;
  if (const char* wrong = tfw2v_draw(&options, &words, &all, &key, 1 << 20, &unit)) std::puts(wrong);
  std::vector<float> inputs = table(1), outputs = table(2);
  Tfw2vTables tables = {{inputs.data(), V}, {outputs.data(), V}};
  tables.stride = stride;
  tables.size = D;
  const float alphas[2] = {.05f, .04f};
  const int64_t n = unit.targets.size;
  const Tfw2vRun run = {{alphas, 2}, 0, n, n};
  Tfw2vResult result = {};
  if (const char* wrong = tfw2v_train(&options, &unit, &tables, &run, &result)) std::puts(wrong);
  std::printf("%lld %.9g %.9g %.9g\n", static_cast<long long>(n), result.loss, result.predictions, result.magnitude);
  for (const auto* rows : {&inputs, &outputs})
    for (float number : *rows) std::printf("%.9g\n", number);
}

}  // namespace

int main() {
  train(true);
  train(false);
}
