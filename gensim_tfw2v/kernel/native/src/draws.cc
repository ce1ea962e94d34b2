#include "draws.h"

#include <algorithm>

namespace tfw2v {
namespace {

// PV-DBOW: appends a (tag, token) pair for each token and each tag of its document; drops the tokens' own
// windows unless options.train_words. Pairs are dealt to blocks round-robin, so that those of one document
// are in different blocks and not updated from the same rows.
void pair_tags(const Tfw2vOptions& options, Drawn& drawn) {
  auto &tokens = drawn.tokens, &inputs = drawn.inputs;
  std::vector<int32_t> tags, targets;
  for (size_t a = 0; a < tokens.size(); ++a) {
    const int32_t document = drawn.documents[a];
    for (int32_t k = drawn.first[document]; k < drawn.first[document + 1]; ++k) {
      tags.push_back(drawn.tags[k]);
      targets.push_back(tokens[a]);
    }
  }
  if (!options.train_words) tokens.clear(), drawn.reaches.clear();
  inputs = tokens;
  const int64_t begin = tokens.size(), pairs = tags.size(), block = options.block;
  const int64_t blocks = options.sequential ? 0 : pairs / block;
  tokens.resize(begin + pairs);
  inputs.resize(begin + pairs);
  drawn.reaches.resize(2 * (begin + pairs), 0);
  int64_t k = 0;
  const auto put = [&](int64_t index) {
    tokens[begin + index] = targets[k];
    inputs[begin + index] = tags[k++];
  };
  for (int64_t i = 0; i < block; ++i)
    for (int64_t b = 0; b < blocks; ++b) put(b * block + i);
  while (k < pairs) put(k);
  drawn.tag_pairs = pairs;
  drawn.documents.clear(), drawn.first.clear(), drawn.tags.clear();
}

}  // namespace

void draw_noise(const Tfw2vNoiseTable& words, const Tfw2vOptions& options, Random& random,
                std::vector<int32_t>& drawn) {
  constexpr int64_t kBatch = 32;  // their buckets are prefetched
  uint64_t bits[kBatch];
  int64_t buckets[kBatch];
  const uint64_t shards = options.shards;
  for (int64_t first = 0, end = drawn.size(); first < end; first += kBatch) {
    const int64_t number = std::min(kBatch, end - first);
    for (int64_t i = 0; i < number; ++i) {
      const uint64_t shard = shards == 1 ? 0 : (first + i) % options.shared % shards;
      const uint64_t size = shards == 1 ? words.words : (words.words - shard + shards - 1) / shards;
      bits[i] = random.next();
      buckets[i] = shard + shards * Random::below(bits[i], size);
      __builtin_prefetch(words.noise + 2 * buckets[i]);
    }
    for (int64_t i = 0; i < number; ++i) {
      const int32_t uniform = static_cast<int32_t>(bits[i] & 0x7FFFFFFF);
      const int32_t* bucket = words.noise + 2 * buckets[i];
      const int32_t is_other = -static_cast<int32_t>(uniform >= bucket[0]);  // no processor guesses it
      drawn[first + i] = (static_cast<int32_t>(buckets[i]) & ~is_other) | (bucket[1] & is_other);
    }
  }
}

int64_t draw(const Tfw2vOptions& options, const Tfw2vNoiseTable& words, const int32_t* entries,
             int64_t number, const int32_t key[2], Drawn& drawn) {
  auto &tokens = drawn.tokens, &reaches = drawn.reaches, &negatives = drawn.negatives;
  auto &documents = drawn.documents, &first_tags = drawn.first, &tags = drawn.tags;
  tokens.resize(number);
  reaches.resize(2 * number);
  documents.resize(options.documents ? number : 0);
  first_tags.assign(options.documents ? 2 : 0, 0);
  for (auto* none : {&negatives, &drawn.inputs, &tags}) none->clear();
  drawn.tag_pairs = 0;
  Random random(key, kTokens);
  int64_t kept = 0, first = 0;
  auto end_sentence = [&] {
    for (int64_t a = first; a < kept; ++a) {
      const int32_t reach = reaches[2 * a];
      reaches[2 * a] = static_cast<int32_t>(std::min<int64_t>(reach, a - first));
      reaches[2 * a + 1] = static_cast<int32_t>(std::min<int64_t>(reach, kept - 1 - a));
    }
    first = kept;
    if (options.documents) first_tags.push_back(static_cast<int32_t>(tags.size()));
  };
  for (int64_t e = 0; e < number; ++e) {
    const int32_t word = entries[e];
    if (word < 0) {
      if (word > kFirstTag) end_sentence();
      else if (options.documents) {
        tags.push_back(static_cast<int32_t>(words.words + kFirstTag - word));
        first_tags.back() = static_cast<int32_t>(tags.size());
      }
      continue;
    }
    if (word >= words.words) return word;
    const uint64_t bits = random.next();  // the upper 24 say whether it stays, the lower how far
    const bool stays = static_cast<float>(bits >> 40) * 0x1p-24f < words.keep[word];
    int32_t reach = options.window;
    if (options.shrink) {
      const uint64_t wide = Random::below(bits << 24, options.max_window);
      reach = static_cast<int32_t>(std::min<uint64_t>(1 + wide, reach));
    }
    tokens[kept] = word;
    reaches[2 * kept] = reach;
    if (options.documents) documents[kept] = static_cast<int32_t>(first_tags.size()) - 2;
    kept += stays;  // as no processor can guess
  }
  end_sentence();
  drawn.counted = kept;
  tokens.resize(kept);
  reaches.resize(2 * kept);
  if (options.documents) documents.resize(kept);
  if (options.documents && options.skipgram) {
    pair_tags(options, drawn);
    kept = tokens.size();
  }
  if (!options.negative) return -1;
  const int64_t shared = options.shared, blocks = (kept + options.block - 1) / options.block;
  negatives.resize(blocks * shared);
  Random noise(key, kNegatives);
  draw_noise(words, options, noise, negatives);
  return -1;
}

}  // namespace tfw2v
