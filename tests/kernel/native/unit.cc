// Draws and trains a small unit, and prints what became of it: kernels on processors without Python.
#include <cstdio>
#include <vector>

#include "../../gensim_tfw2v/kernel/native/src/draws.h"

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
  const Tfw2vNoiseTable words = {keep.data(), noise.data(), V};
  const int32_t key[2] = {1, 2};
  tfw2v::Drawn drawn;
  tfw2v::draw(options, words, entries.data(), entries.size(), key, drawn);
  const int64_t kept = drawn.tokens.size();
  const int32_t none = 0;
  const Tfw2vDraws draws = {kept, static_cast<int64_t>(drawn.negatives.size()) / options.shared,
                            drawn.tokens.data(), drawn.tokens.data(), drawn.reaches.data(),
                            drawn.negatives.data(), &none, &none, 0, 0, nullptr};
  std::vector<float> inputs = table(1), outputs = table(2);
  const Tfw2vTables tables = {{inputs.data(), V}, {outputs.data(), V}, {nullptr, 0}, nullptr, stride, D};
  const float alphas[2] = {.05f, .04f};
  Tfw2vResult result = {};
  if (const char* wrong = tfw2v_check(&options, &draws, &tables, 0, kept)) std::puts(wrong);
  tfw2v_train(&options, &draws, &tables, alphas, 0, kept, kept, &result);
  std::printf("%lld %.9g %.9g %.9g\n", static_cast<long long>(kept), result.loss,
              result.predictions, result.magnitude);
  for (const auto* rows : {&inputs, &outputs})
    for (float number : *rows) std::printf("%.9g\n", number);
}

}  // namespace

int main() {
  train(true);
  train(false);
}
