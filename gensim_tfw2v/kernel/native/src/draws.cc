#include "draws.h"

#include <algorithm>

namespace tfw2v {
namespace {

enum Purpose : uint64_t { kTokens, kNegatives };

int32_t draw_word(const Tfw2vWords& words, const Tfw2vOptions& options, int shard, Random& random) {
  const uint64_t bits = random.next();
  const uint64_t shards = options.shards;
  const uint64_t size = (words.words - shard + shards - 1) / shards;
  const int64_t bucket = shard + shards * Random::below(bits, size);
  const int32_t place = static_cast<int32_t>(bits & 0x7FFFFFFF);
  const bool own = place < words.noise[2 * bucket];
  return own ? static_cast<int32_t>(bucket) : words.noise[2 * bucket + 1];
}

}  // namespace

int64_t draw(const Tfw2vOptions& options, const Tfw2vWords& words, const int32_t* entries,
             int64_t number, const int32_t key[2], Drawn& drawn) {
  auto &tokens = drawn.tokens, &reaches = drawn.reaches, &negatives = drawn.negatives;
  tokens.resize(number);
  reaches.resize(2 * number);
  negatives.clear();
  Random random(key, kTokens);
  int64_t kept = 0, first = 0;
  auto end_sentence = [&] {
    for (int64_t a = first; a < kept; ++a) {
      const int32_t reach = reaches[2 * a];
      reaches[2 * a] = static_cast<int32_t>(std::min<int64_t>(reach, a - first));
      reaches[2 * a + 1] = static_cast<int32_t>(std::min<int64_t>(reach, kept - 1 - a));
    }
    first = kept;
  };
  for (int64_t e = 0; e < number; ++e) {
    const int32_t word = entries[e];
    if (word < 0) {
      end_sentence();
      continue;
    }
    if (word >= words.words) return word;
    const uint64_t bits = random.next();  // the upper 24 say whether it stays, the lower how far
    if (static_cast<float>(bits >> 40) * 0x1p-24f >= words.keep[word]) continue;
    int32_t reach = options.window;
    if (options.shrink) {
      const uint64_t wide = Random::below(bits << 24, options.widest);
      reach = static_cast<int32_t>(std::min<uint64_t>(1 + wide, reach));
    }
    tokens[kept] = word;
    reaches[2 * kept++] = reach;
  }
  end_sentence();
  tokens.resize(kept);
  reaches.resize(2 * kept);
  if (!options.negative) return -1;
  const int64_t shared = options.shared, blocks = (kept + options.block - 1) / options.block;
  negatives.resize(blocks * shared);
  Random noise(key, kNegatives);
  for (int64_t k = 0; k < blocks * shared; ++k)
    negatives[k] = draw_word(words, options, static_cast<int>(k % shared % options.shards), noise);
  return -1;
}

}  // namespace tfw2v
