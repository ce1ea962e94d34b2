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

using Drawn = UnitOf<std::vector<int32_t>>;

// What is wrong with an alias table, or null.
const char* check_noise(const Tfw2vOptions& options, const Tfw2vNoiseTable& words);

// Draws a unit. `entries`: word ids, with kEnd after each sentence or document; a document's tags are
// entries kFirstTag - tag. Tag t has row V + t. Returns what is wrong, or null.
const char* draw(const Tfw2vOptions& options, const Tfw2vNoiseTable& words, Tfw2vInts entries,
                 Tfw2vInts key, Drawn& drawn);

// Draws words of a noise distribution, by its alias table: the k-th of shard k % C % shards.
void draw_noise(const Tfw2vNoiseTable& words, const Tfw2vOptions& options, Random& random,
                std::vector<int32_t>& drawn);

}  // namespace tfw2v
