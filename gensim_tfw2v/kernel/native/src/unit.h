// Arguments of the kernels: plain C structs, filled by by_ctypes.py or tensorflow.cc.
//
// Letters, in all sources:
//   u, o, t   a unit, its options, the tables
//   n         positions of a unit: tokens after subsampling, then (tag, token) pairs
//   a, p, c   a position, the first position of a block, a centre
//   B, nb     positions per block: `block`; positions of this block: fewer than B at the end
//   w         largest number of words before or after a centre in its window: `window`
//   K         negatives per prediction: `negative`
//   C, Cr     negatives shared by a block: `shared`; C rounded up to a multiple of W
//   V         words of the vocabulary
//   D, S      floats of a row in use; stride: floats from a row to the next
//   W, N      floats per vector register; vectors that hold D floats
//   d, L      first float of a slice of a row; vectors of the slice
//   H         floats of a hidden layer, an output or a node: S, or S * `concatenated`
//   m, ld     rows x of a product; leading dimension: floats from a row of scores to the next
//   R, Y      rows x and rows y of a tile of scores
//   x, y, h   inputs; outputs or nodes; hidden layers. dx, dy, dh are their updates
//   z, g      scores, z = h . y; coefficients of the updates: dh = g y, dy = g h
//
// Floats [D, S) of every row, in a table or a buffer, are 0 and stay 0. So kernels compute N * W floats
// per row, where D <= N * W <= S, and copy S. Only inference.h reads rows without such padding.
#pragma once
#include <cstdint>

#define TFW2V_EXPORT __attribute__((visibility("default")))

// A read-only array of `size` elements; 0 if it is not in use.
template <class T>
struct Tfw2vArray {
  const T* data;
  int64_t size;
  const T& operator[](int64_t i) const { return data[i]; }
};
using Tfw2vInts = Tfw2vArray<int32_t>;
using Tfw2vFloats = Tfw2vArray<float>;

// Lists of integers, concatenated. List i is entries[first[i]] to before entries[first[i + 1]].
struct Tfw2vLists {
  Tfw2vInts first;    // [number + 1] index in `entries` at which each list begins
  Tfw2vInts entries;
  int64_t number() const { return first.size ? first.size - 1 : 0; }
};

// Options, the same for all units of a training, in the order of by_ctypes.Options. Flags are 0 or 1.
struct Tfw2vOptions {
  int32_t skipgram;       // 1: skip-gram; 0: CBOW
  int32_t negative;       // K; 0: no negative sampling
  int32_t hierarchical;   // 1: train hierarchical softmax
  int32_t mean;           // CBOW: hidden layers are means (1) or sums (0) of the window's rows
  int32_t corrected;      // CBOW: 1: each row of a window gets the gradient of the loss; 0: as in gensim
  int32_t skip_targets;   // 1: a negative that equals the target is skipped, as in gensim
  int32_t shards;         // number of shards of the words: negatives are of the target's shard
  int32_t shrink;         // 1: draw the width of each window
  int32_t window;         // w
  int32_t max_window;     // with shrink: widths are drawn from 1 to max_window, then limited to w
  int32_t block;          // B
  int32_t shared;         // C
  int32_t span;           // positions per span of subwords.h, rounded up to whole blocks
  int32_t sequential;     // 1: train window by window; 0: in blocks
  int32_t group;          // CBOW windows, or words of a skip-gram window, scored from the same rows
  int32_t documents;      // 1: tags of documents are inputs, too: see UnitOf
  int32_t train_words;    // skip-gram of documents: 1: train the windows of words, too
  int32_t concatenated;   // CBOW: number of rows concatenated to a hidden layer; 0: sum or mean
  int32_t padding;        // with concatenated: input used for words before or after the document
};

// Subsampling and noise of each word.
struct Tfw2vNoiseTable {
  Tfw2vFloats keep;       // [V] probability of surviving subsampling
  Tfw2vInts noise;        // [V, 2] alias table: probability * 2^31 of the word itself; its alias
};

// A drawn unit, with fields in the order of by_ctypes.Unit. The last counts[0] positions are (tag, token)
// pairs. They have no window: the input, a tag, predicts the target.
template <class Array>
struct UnitOf {
  Array inputs;           // [n] row of inputs per position; with subwords, a word: index in t.subwords
  Array targets;          // [n] row of outputs per position, and index in t.paths
  Array reaches;          // [n, 2] number of positions in the window before and after each position
  Array negatives;        // [blocks, C] rows of outputs
  Array shards;           // [n] shard of each target's negatives; empty with one shard
  Array documents;        // [n] CBOW: document of each position, whose tags are in its window; or empty
  Array first_tags;       // [documents + 1] index in `tags` at which each document's tags begin
  Array tags;             // rows of inputs
  Array counts;           // [2] number of (tag, token) pairs; number of tokens after subsampling
};
using Tfw2vUnit = UnitOf<Tfw2vInts>;
constexpr int kUnitFields = sizeof(UnitOf<char>);  // number of arrays

// A table of rows, each S floats. With o.concatenated, an output or a node is as many consecutive rows
// as a hidden layer: H floats.
struct Tfw2vTable {
  float* rows;
  int64_t number;         // number of rows
};

struct Tfw2vTables {
  Tfw2vTable inputs, outputs, nodes;
  Tfw2vFloats lock;       // [inputs] factor of each input row's updates; empty: all 1
  Tfw2vFloats weights;    // [inputs] number of gensim's rows merged (summed) into each; empty: all 1
  Tfw2vLists paths;       // per target, from the root: 2 * node + code
  Tfw2vLists subwords;    // per word, rows of inputs that compose its input: its own first, then n-grams
  int64_t stride;         // S, a multiple of 16
  int64_t size;           // D
};

// Arguments of training one unit.
struct Tfw2vRun {
  Tfw2vFloats alphas;     // [2] learning rates at the unit's first position and after its last
  int64_t first, last;    // positions to train, [first, last): whole blocks
  int64_t loss_every;     // compute the loss of every `loss_every`-th block; 0: of none
  int64_t round_blocks;   // with a pool: blocks per round, all computed from the same rows
  void* pool;             // ThreadPool that trains the whole unit deterministically, or null
  bool has_loss(int64_t block) const { return loss_every && block % loss_every == 0; }
};

struct Tfw2vResult {
  double loss;            // sum of negative log likelihoods over the blocks with loss
  double predictions;     // number of predictions in `loss`: pairs, or windows of CBOW
  double magnitude;       // sum of abs(score); infinite if training has diverged
};

// Documents to infer vectors for. The tables are a model's own arrays, which stay as they are: stride
// and size are both D, and an output or a node is one row of H floats.
struct Tfw2vInference {
  Tfw2vLists words;       // ids of each document's words
  Tfw2vFloats alphas;     // [epochs] learning rates
  float* vectors;         // [documents, D] result
  uint64_t seed;
};

// Functions of c_api.cc that tensorflow.cc calls. Each returns an error message, or null.
extern "C" {
TFW2V_EXPORT const char* tfw2v_draw(const Tfw2vOptions*, const Tfw2vNoiseTable*,
                                    const Tfw2vInts* entries, const Tfw2vInts* key, Tfw2vUnit*);
TFW2V_EXPORT const char* tfw2v_train(const Tfw2vOptions*, const Tfw2vUnit*, const Tfw2vTables*,
                                     const Tfw2vRun*, Tfw2vResult*);
}
