// Arguments of the kernels: plain C structs, filled by by_ctypes.py or tensorflow.cc.
//
// Letters, in all sources:
//   u, o, t  a unit, its options, the tables
//   n        positions of a unit: tokens after subsampling, then (tag, token) pairs
//   a, p, c  a position, the first one of a block, a centre
//   B        positions of a block
//   K        negatives of a prediction: `negative`
//   C, Cr    negatives that a block shares: `shared`; rounded up to W
//   V        words
//   D, S     floats of a row in use, and from a row to the next
//   N, W, L  vectors that D floats take, floats of a vector, vectors of a slice that begins at float d
//   H        floats from a hidden layer to the next, and so of a row of outputs or nodes
//   R, Y     rows x and y of a tile of scores
//   x, y, h  rows of inputs, rows of outputs or nodes, hidden layers; dx, dh are their updates
//   z, g     scores, and the coefficients of updates that come of them
//
// Floats D to S of every row and buffer are 0 and stay 0: kernels compute N * W floats, and copy S.
#pragma once
#include <cstdint>

#define TFW2V_EXPORT __attribute__((visibility("default")))

// Numbers one after the other. A size of 0 is that of an array without use.
template <class T>
struct Tfw2vArray {
  const T* data;
  int64_t size;
  const T& operator[](int64_t i) const { return data[i]; }
};
using Tfw2vInts = Tfw2vArray<int32_t>;
using Tfw2vFloats = Tfw2vArray<float>;

// Lists of numbers, one after the other.
struct Tfw2vLists {
  Tfw2vInts first;    // [number + 1] where in `entries` each list begins
  Tfw2vInts entries;
  int64_t number() const { return first.size ? first.size - 1 : 0; }
};

// What does not change between units.
struct Tfw2vOptions {
  int32_t skipgram;       // else CBOW
  int32_t negative;       // K; 0 without negative sampling
  int32_t hierarchical;   // with hierarchical softmax
  int32_t mean;           // CBOW: the mean of a window's rows predicts, else their sum
  int32_t corrected;      // CBOW: each row of a window gets the gradient of the loss
  int32_t skip_targets;   // a negative that equals a target does not count for it
  int32_t shards;         // a target's negatives are words of its own shard
  int32_t shrink;         // windows are reduced to a random width
  int32_t window;         // w
  int32_t max_window;     // what windows are reduced from, before they are cut to w
  int32_t block;          // B
  int32_t shared;         // C
  int32_t span;           // positions whose words' inputs are made of subwords at a time
  int32_t sequential;     // one window after the other, else in blocks
  int32_t group;          // windows of CBOW, or words of a window, that start from the same rows
  int32_t documents;      // tags of documents are inputs, too: see UnitOf
  int32_t train_words;    // skip-gram of documents: words predict as well
  int32_t concatenated;   // CBOW: number of rows that are concatenated to a hidden layer; 0: their sum
  int32_t padding;        // the input that stands for what lies outside of a document, in these
};

// Subsampling and noise of each word.
struct Tfw2vNoiseTable {
  Tfw2vFloats keep;       // [V] chance to survive subsampling
  Tfw2vInts noise;        // [V, 2] alias table: probability * 2^31 of the own word, and the other one
};

// A drawn unit, in the order of by_ctypes.Unit.
template <class Array>
struct UnitOf {
  Array inputs;           // [n] row of each position in the table of inputs, or list of subwords
  Array targets;          // [n] row of each position in the table of outputs, and its path
  Array reaches;          // [n, 2] positions of its window before and after it
  Array negatives;        // [blocks, C] rows of the table of outputs
  Array shards;           // [n] shard of each target's negatives, if there are several
  Array documents;        // [n] of CBOW's positions, whose windows hold its tags
  Array first_tags;       // [documents + 1] where in `tags` those of each document begin
  Array tags;             // rows of the table of inputs
  Array counts;           // [2] (tag, token) pairs at the end, which have no window: the input predicts
                          // the target; and tokens after subsampling
};
using Tfw2vUnit = UnitOf<Tfw2vInts>;
constexpr int kUnitFields = sizeof(UnitOf<char>);

// A table of rows: each takes `stride` floats, a multiple of 16. An output and a node are as many rows
// as a hidden layer.
struct Tfw2vTable {
  float* rows;
  int64_t number;
};

struct Tfw2vTables {
  Tfw2vTable inputs, outputs, nodes;
  Tfw2vFloats lock;       // [inputs] factor of each input row's updates; none: all 1
  Tfw2vFloats weights;    // [inputs] of how many rows each is the sum; none: all 1
  Tfw2vLists paths;       // 2 * node + code, of each target
  Tfw2vLists subwords;    // rows of the table of inputs that make a word's input, its own first
  int64_t stride;         // S
  int64_t size;           // D
};

// How a unit is trained.
struct Tfw2vRun {
  Tfw2vFloats alphas;     // [2] step sizes at its first position and after its last
  int64_t first, last;    // from this position to before that: whole blocks
  int64_t loss_every;     // the loss of each such block is summed; 0: of none
  int64_t round_blocks;   // with a pool: blocks that start from the same rows
  void* pool;             // a ThreadPool that trains the whole unit deterministically, or null
  bool has_loss(int64_t block) const { return loss_every && block % loss_every == 0; }
};

struct Tfw2vResult {
  double loss;            // summed negative log likelihoods, of the blocks asked for
  double predictions;     // number of their predictions
  double magnitude;       // not finite if training has diverged
};

// Documents of which vectors are inferred. The tables' rows lie D floats apart, and stay. Outputs and
// nodes are numbered by hidden layers.
struct Tfw2vInference {
  Tfw2vLists words;       // of each document
  Tfw2vFloats alphas;     // [epochs]
  float* vectors;         // [documents, D], which are the result
  uint64_t seed;
};

// The functions of c_api.cc that tensorflow.cc calls. They return what is wrong, or null.
extern "C" {
TFW2V_EXPORT const char* tfw2v_draw(const Tfw2vOptions*, const Tfw2vNoiseTable*,
                                    const Tfw2vInts* entries, const Tfw2vInts* key, Tfw2vUnit*);
TFW2V_EXPORT const char* tfw2v_train(const Tfw2vOptions*, const Tfw2vUnit*, const Tfw2vTables*,
                                     const Tfw2vRun*, Tfw2vResult*);
}
