// The random draws of a work unit: which tokens stay, how far windows reach, which negatives.
#pragma once
#include <vector>

#include "text.h"
#include "unit.h"

namespace tfw2v {

// Random numbers of one stream (Steele, Lea and Flood 2014, "Fast Splittable Pseudorandom Number
// Generators", SplitMix64).
class Random {
 public:
  // A stream of its own for each key and purpose.
  Random(const int32_t key[2], uint64_t purpose) {
    state_ = (static_cast<uint64_t>(static_cast<uint32_t>(key[0])) << 32) |
             static_cast<uint32_t>(key[1]);
    state_ = next() + purpose * 0xD1342543DE82EF95ull;
    next();
  }
  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  // Below `limit`, by the upper bits of `bits`.
  static uint32_t below(uint64_t bits, uint64_t limit) {
    return static_cast<uint32_t>(((bits >> 32) * limit) >> 32);
  }

 private:
  uint64_t state_;
};

// What random numbers are for.
enum Purpose : uint64_t { kTokens, kNegatives, kStarts };

struct Drawn {
  std::vector<int32_t> tokens;     // [n]
  std::vector<int32_t> reaches;    // [n, 2]
  std::vector<int32_t> negatives;  // [blocks, shared]
  std::vector<int32_t> inputs;     // [n] rows; none where they are the tokens
  std::vector<int32_t> documents;  // [n] of CBOW
  std::vector<int32_t> first, tags;  // of each document, in rows
  int64_t tag_pairs;                   // positions at the end that are a tag and a token
  int64_t counted;                 // words that were left
};

// Entries: token ids, and kEnd after each sentence or document, before which its tags may be. Tags
// have the rows after those of the words. Returns the first id out of range, else -1.
int64_t draw(const Tfw2vOptions& options, const Tfw2vNoiseTable& words, const int32_t* entries,
             int64_t number, const int32_t key[2], Drawn& drawn);

// Draws words of a noise distribution, by its alias table: the k-th of shard k % shared % shards.
void draw_noise(const Tfw2vNoiseTable& words, const Tfw2vOptions& options, Random& random,
                std::vector<int32_t>& drawn);

// What was drawn, without paths and subwords.
inline Tfw2vDraws draws_of(const Drawn& drawn, const Tfw2vOptions& options) {
  const auto &tokens = drawn.tokens, &first = drawn.first;
  const bool in_windows = !drawn.documents.empty();
  const int64_t documents = in_windows ? static_cast<int64_t>(first.size()) - 1 : 0;
  return {static_cast<int64_t>(tokens.size()),
          static_cast<int64_t>(drawn.negatives.size()) / options.shared,
          (drawn.inputs.empty() ? tokens : drawn.inputs).data(), tokens.data(),
          drawn.reaches.data(), drawn.negatives.data(), nullptr, tokens.data(), {}, {},
          in_windows ? drawn.documents.data() : nullptr,
          {first.data(), drawn.tags.data(), documents, static_cast<int64_t>(drawn.tags.size())},
          drawn.tag_pairs, drawn.counted};
}

}  // namespace tfw2v
