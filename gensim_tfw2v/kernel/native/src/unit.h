// Arguments of the kernels: plain C structs, filled by by_ctypes.py or tensorflow.cc.
//
// Letters, in all sources:
//   u, o, t   a unit, its options, the tables
//   n         positions of a unit: tokens after subsampling, then (tag, token) pairs
//   a, p, c   a position, the first position of a block, a centre
//   B, nb     positions per block (option `block`); positions of the current block, fewer at the unit's end
//   w         maximum number of words before, and after, a centre in its window (option `window`)
//   K         negatives per prediction (option `negative`)
//   C, Cr     negatives shared by a block (option `shared`); C rounded up to a multiple of W
//   V         words of the vocabulary
//   D, S      floats of a row in use; stride: floats from a row to the next
//   W, N      floats per vector register; vectors that hold D floats
//   d, L      first float of a slice of a row; vectors of the slice
//   H         floats of a hidden layer, an output or a node: S, or S * `concatenated`
//   m, ld     number of rows x of a product; leading dimension: floats from a row of scores to the next
//   R, Y      numbers of rows x and rows y of a tile of scores
//   x, y, h   inputs; outputs or nodes; hidden layers. dx, dy, dh are their updates
//   z, g      scores, z = h . y; coefficients of the updates: dh = g y, dy = g h
//
// Floats [D, S) of every row, in a table or a buffer, are 0 and stay 0. So kernels compute N * W floats
// per row, where D <= N * W <= S, and copy S. Only inference.h reads rows without such padding.
#pragma once
#include <cstdint>

#define TFW2V_EXPORT __attribute__((visibility("default")))

// A read-only array of `size` elements. `size` is 0 if the array is not in use.
template <class T>
struct Tfw2vArray {
  const T* data;
  int64_t size;
  const T& operator[](int64_t i) const { return data[i]; }
};
using Tfw2vInts = Tfw2vArray<int32_t>;
using Tfw2vFloats = Tfw2vArray<float>;

// Lists of integers, concatenated. List i has the entries with indices [first[i], first[i + 1]).
struct Tfw2vLists {
  Tfw2vInts first;    // [number() + 1] index in `entries` at which each list begins, and the last list ends
  Tfw2vInts entries;
  int64_t number() const { return first.size ? first.size - 1 : 0; }
};

// Options, equal for all units of a training run, in the order of by_ctypes.Options. Flags are 0 or 1.
struct Tfw2vOptions {
  int32_t skipgram;       // 1: skip-gram; 0: CBOW
  int32_t negative;       // K; 0: no negative sampling
  int32_t hierarchical;   // 1: train hierarchical softmax
  int32_t mean;           // CBOW: hidden layers are means (1) or sums (0) of the window's rows
  int32_t corrected;      // CBOW: rows of a window get the gradient of the loss (1), or gensim's update (0)
  int32_t skip_targets;   // 1: a negative that equals the target is skipped, as in gensim
  int32_t shards;         // number of shards of the vocabulary; negatives are drawn from the target's shard
  int32_t shrink;         // 1: draw the width of each window; 0: all windows have width w
  int32_t window;         // w
  int32_t max_window;     // with shrink: widths are drawn from 1 .. max_window, then limited to w
  int32_t block;          // B
  int32_t shared;         // C
  int32_t repeats;        // skip-gram in blocks: maximum occurrences of an input in a block or part of one
  int32_t span;           // positions per span of subwords.h, rounded up to whole blocks
  int32_t sequential;     // 1: train window by window; 0: in blocks
  int32_t group;          // CBOW windows, or words of a skip-gram window, that are scored before rows change
  int32_t documents;      // 1: tags of documents are inputs, too (see UnitOf)
  int32_t train_words;    // skip-gram of documents: also train the windows of words (1), or only the tags (0)
  int32_t concatenated;   // CBOW: number of rows that a hidden layer concatenates; 0: it is their sum or mean
  int32_t padding;        // with concatenated: row of inputs in place of words outside of window or document
  int32_t learn_hidden;   // 1: update outputs and nodes; 0: only read them
};

// Subsampling and noise distribution of the words.
struct Tfw2vNoiseTable {
  Tfw2vFloats keep;       // [V] probability of surviving subsampling
  Tfw2vInts noise;        // [V, 2] alias table. Bucket w: 2^31 * share of word w; word that has the rest
};

// A drawn unit, with fields in the order of by_ctypes.Unit. The last counts[0] positions are (tag, token)
// pairs. They have no window: the tag is the input, and predicts the token, the target. With subwords,
// trainers get Subwords::unit() instead, whose inputs are rows that subwords.h composes.
template <class Array>
struct UnitOf {
  Array inputs;           // [n] row of inputs per position; with subwords, index in t.subwords of its word
  Array targets;          // [n] target word per position: row of outputs, and index in t.paths
  Array reaches;          // [n, 2] number of positions in the window before and after each position
  Array negatives;        // [blocks, C] rows of outputs
  Array shards;           // [n] shard of each target's negatives; empty with one shard
  Array documents;        // CBOW: [n] index of the document whose tags are in the position's window; or empty
  Array first_tags;       // [documents + 1] index in `tags` of each document's first tag; last, their end
  Array tags;             // rows of inputs, document by document
  Array counts;           // [2] number of (tag, token) pairs; number of tokens after subsampling
};
using Tfw2vUnit = UnitOf<Tfw2vInts>;
constexpr int kUnitFields = sizeof(UnitOf<char>);  // number of arrays

// A table of rows, each S floats. With o.concatenated, an output or a node consists of that number of
// consecutive rows: H floats, like a hidden layer.
struct Tfw2vTable {
  float* rows;
  int64_t number;         // number of rows
};

struct Tfw2vTables {
  Tfw2vTable inputs, outputs, nodes;
  Tfw2vFloats lock;       // [inputs] factor of each input row's updates; empty: all 1
  Tfw2vFloats weights;    // [inputs] number of gensim's rows merged (summed) into each; empty: all 1
  Tfw2vLists paths;       // per target, its path from the root of the Huffman tree: entries 2 * node + code
  Tfw2vLists subwords;    // per word, rows of inputs that compose its input: its own, then its n-grams'
  int64_t stride;         // S, a multiple of 16
  int64_t size;           // D
};

// Arguments of training one unit.
struct Tfw2vRun {
  Tfw2vFloats alphas;     // [2] learning rates at the unit's first position and after its last
  int64_t first, last;    // positions to train, [first, last), in whole blocks
  int64_t loss_every;     // compute the loss of every `loss_every`-th block; 0: of none
  int64_t round_blocks;   // with a pool: blocks per round, all computed from the same rows
  void* pool;             // ThreadPool that trains the whole unit deterministically, or null
  bool has_loss(int64_t block) const { return loss_every && block % loss_every == 0; }
};

struct Tfw2vResult {
  double loss;            // negative log likelihood, summed over the blocks that `loss_every` selects
  double predictions;     // number of predictions in these blocks: pairs of skip-gram, or windows of CBOW
  double magnitude;       // sum of abs(score) over all blocks; infinite if training has diverged
  double trained;         // 1 once the unit is in the rows, stored last; before, and after an error, all are 0
};

// Documents to infer vectors for. The tables are the model's own arrays, which do not change. If their rows
// are not padded, stride and size are both D. An output or a node is one row of H floats.
struct Tfw2vInference {
  Tfw2vLists words;       // ids of each document's words
  Tfw2vFloats alphas;     // [epochs] learning rates
  float* vectors;         // [documents, D] result
  uint64_t seed;
};

// Functions of c_api.cc that tensorflow.cc calls. Each returns an error message, or null on success.
extern "C" {
TFW2V_EXPORT const char* tfw2v_draw(const Tfw2vOptions*, const Tfw2vNoiseTable*,
                                    const Tfw2vInts* entries, const Tfw2vInts* key, Tfw2vUnit*);
TFW2V_EXPORT const char* tfw2v_train(const Tfw2vOptions*, const Tfw2vUnit*, const Tfw2vTables*,
                                     const Tfw2vRun*, Tfw2vResult*);
}
