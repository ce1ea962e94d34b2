// Arguments of the kernels: plain C structs, filled by by_ctypes.py or unit_ops.cc.
//
// Letters, in all sources. V, D, B, K and Kn are those of docs/glossary.md:
//   V         words of the vocabulary
//   D         vector size: floats of a row in use
//   B         positions of a full block (option `block`)
//   nb        positions of the current block: B, or fewer at the end of the unit
//   K         negatives per prediction (option `negative`)
//   Kn        negatives drawn for a block and shared by its predictions (option `shared`)
//   u, o, t   a unit, its options, the tables
//   n         positions of a unit: tokens after subsampling, then (tag, token) pairs
//   a, p, c   a position, the first position of a block, a centre
//   w         maximum number of words before, and after, a centre in its window (option `window`)
//   W         floats of a vector, which fills a vector register of the processor
//   d         first float of a slice of a row
//   L         number of vectors of a slice
//   m         number of rows x in a product
//   ld        leading dimension: floats from a row of scores to the next
//   x, y, h   inputs; outputs or nodes; hidden layers. dx, dy, dh are their updates
//   z, g      scores, z = h . y; coefficients of the updates: dh = g y, dy = g h
//
// Floats [D, stride) of every row, in a table or a buffer, are 0 and stay 0. So kernels compute n_vectors * W floats
// per row, where D <= n_vectors * W <= stride, and copy `stride` floats. Only inference.h reads rows without such
// padding.
#pragma once
#include <cstdint>

#define TFW2V_EXPORT __attribute__((visibility("default")))

// The fields of each struct that Python fills or reads are listed once, in a macro TFW2V_*(X). The structs and
// tfw2v_layout() are made of these lists.
#define TFW2V_FIELD(type, name) type name;

// A read-only array of `size` elements. `size` is 0 if the array is not in use.
template <class T>
struct Tfw2vArray {
  const T* data;
  int64_t size;
  const T& operator[](int64_t i) const { return data[i]; }
};
using Tfw2vInts = Tfw2vArray<int32_t>;
using Tfw2vFloats = Tfw2vArray<float>;

// Lists of integers, concatenated. List i has the entries with indices [offsets[i], offsets[i + 1]).
// clang-format off
#define TFW2V_LISTS(X)                                                                                               \
  X(Tfw2vInts, offsets)  /* [n_lists() + 1] index in `entries` at which each list begins, and the last list ends */  \
  X(Tfw2vInts, entries)
// clang-format on
struct Tfw2vLists {
  TFW2V_LISTS(TFW2V_FIELD)
  int64_t n_lists() const { return offsets.size ? offsets.size - 1 : 0; }
};

// Options, equal for all units of a training run, in the order of `Options` in compiled_library.py. Flags are 0 or 1.
// clang-format off
#define TFW2V_OPTIONS(X)                                                                                             \
  X(int32_t, skipgram)      /* 1: skip-gram; 0: CBOW */                                                              \
  X(int32_t, negative)      /* K; 0: no negative sampling */                                                         \
  X(int32_t, hierarchical)  /* 1: train hierarchical softmax */                                                      \
  X(int32_t, mean)          /* CBOW: hidden layers are means (1) or sums (0) of the window's rows */                 \
  X(int32_t, corrected)     /* CBOW: rows of a window get the gradient of the loss (1), or gensim's update (0) */    \
  X(int32_t, skip_targets)  /* 1: a negative that equals the target is skipped, as in gensim */                      \
  X(int32_t, shards)        /* shards of the vocabulary: word r is in shard r % shards, as are its negatives */      \
  X(int32_t, shrink)        /* 1: draw the width of each window; 0: all windows have width w */                      \
  X(int32_t, window)        /* w */                                                                                  \
  X(int32_t, max_window)    /* with shrink: widths are drawn from 1 .. max_window, then limited to w */              \
  X(int32_t, block)         /* B */                                                                                  \
  X(int32_t, shared)        /* Kn */                                                                                 \
  X(int32_t, repeats)       /* skip-gram in blocks: maximum occurrences of an input in a block or part of one */     \
  X(int32_t, span)          /* positions per span of subwords.h, rounded up to whole blocks */                       \
  X(int32_t, sequential)    /* 1: train window by window; 0: in blocks */                                            \
  X(int32_t, group)         /* CBOW windows, or words of a skip-gram window, that are scored before rows change */   \
  X(int32_t, documents)     /* 1: tags of documents are inputs, too (see UnitOf) */                                  \
  X(int32_t, train_words)   /* skip-gram of documents: also train the windows of words (1), or only the tags (0) */  \
  X(int32_t, concatenated)  /* CBOW: number of rows that a hidden layer concatenates; 0: it is their sum or mean */  \
  X(int32_t, padding)       /* with concatenated: row of inputs in place of words outside of window or document */   \
  X(int32_t, learn_hidden)  /* 1: update outputs and nodes; 0: only read them */                                     \
  X(int32_t, kernel)        /* 0: the default of the process; else 1 + index in isas.h of an instruction set */
// clang-format on
struct Tfw2vOptions {
  TFW2V_OPTIONS(TFW2V_FIELD)
};

// Subsampling and noise distribution of the words.
// clang-format off
#define TFW2V_NOISE_TABLE(X)                                                                                         \
  X(Tfw2vFloats, keep)  /* [V] probability of surviving subsampling */                                               \
  X(Tfw2vInts, noise)   /* [V, 2] alias table. Bucket w: 2^31 * share of word w; word that has the rest */
// clang-format on
struct Tfw2vNoiseTable {
  TFW2V_NOISE_TABLE(TFW2V_FIELD)
};

// A drawn unit, with fields in the order of `Unit` in compiled_library.py. The last counts[0] positions are (tag,
// token) pairs without a window: the input, a tag, predicts the target, a token. With subwords, trainers get
// Subwords::unit() instead, whose inputs are rows that subwords.h composes.
// clang-format off
#define TFW2V_UNIT(X)                                                                                                \
  X(inputs)      /* [n] row of inputs per position; with subwords, index in t.subwords of its word */                \
  X(targets)     /* [n] target word per position: row of outputs, and index in t.paths */                            \
  X(reaches)     /* [n, 2] number of positions in the window before and after each position */                       \
  X(negatives)   /* [blocks, Kn] rows of outputs */                                                                  \
  X(shards)      /* [n] shard of each target's negatives; empty with one shard */                                    \
  X(documents)   /* CBOW: [n] index of the document whose tags are in the position's window; or empty */             \
  X(first_tags)  /* [documents + 1] index in `tags` of each document's first tag; last, their end */                 \
  X(tags)        /* rows of inputs, document by document */                                                          \
  X(counts)      /* [2] number of (tag, token) pairs; number of tokens after subsampling. [5]: see draw() */
// clang-format on
#define TFW2V_ARRAY(name) Array name;
template <class Array>
struct UnitOf {
  TFW2V_UNIT(TFW2V_ARRAY)
};
using Tfw2vUnit = UnitOf<Tfw2vInts>;
constexpr int kUnitFields = sizeof(UnitOf<char>);  // number of arrays

// A table of rows, each `stride` floats. With o.concatenated, an output or a node consists of that number of
// consecutive rows, like a hidden layer.
// clang-format off
#define TFW2V_TABLE(X)                                                                                               \
  X(float*, rows)                                                                                                    \
  X(int64_t, n_rows)
// clang-format on
struct Tfw2vTable {
  TFW2V_TABLE(TFW2V_FIELD)
};

// clang-format off
#define TFW2V_TABLES(X)                                                                                              \
  X(Tfw2vTable, inputs)                                                                                              \
  X(Tfw2vTable, outputs)                                                                                             \
  X(Tfw2vTable, nodes)                                                                                               \
  X(Tfw2vFloats, lock)     /* [inputs] factor of each input row's updates; empty: all 1 */                           \
  X(Tfw2vFloats, weights)  /* [inputs] number of gensim's rows merged (summed) into each; empty: all 1 */            \
  X(Tfw2vLists, paths)     /* per target, its path from the root of the Huffman tree: entries 2 * node + code */     \
  X(Tfw2vLists, subwords)  /* per word, rows of inputs that compose its input: its own, then its n-grams' */         \
  X(int64_t, stride)       /* floats from a row to the next, a multiple of 16 */                                     \
  X(int64_t, size)         /* D */                                                                                   \
  X(Tfw2vNoiseTable, noise) /* of units that are drawn in pieces, else not in use: see draws.h */
// clang-format on
struct Tfw2vTables {
  TFW2V_TABLES(TFW2V_FIELD)
};

// Arguments of training one unit.
// clang-format off
#define TFW2V_RUN(X)                                                                                                 \
  X(Tfw2vFloats, alphas)    /* [2] learning rates at the unit's first position and after its last */                 \
  X(int64_t, begin)         /* first position to train, the first of a block */                                      \
  X(int64_t, end)           /* end of the positions to train: n, or the first of a block */                          \
  X(int64_t, loss_every)    /* compute the loss of every `loss_every`-th block; 0: of none */                        \
  X(int64_t, threads)       /* number of threads that train units on the same tables at the same time */            \
  X(int64_t, round_blocks)  /* with a pool: blocks per round, all computed from the same rows */                     \
  X(void*, pool)            /* ThreadPool that trains the whole unit deterministically, or null */
// clang-format on
struct Tfw2vRun {
  TFW2V_RUN(TFW2V_FIELD)
  bool has_loss(int64_t block) const { return loss_every && block % loss_every == 0; }
};

// clang-format off
#define TFW2V_RESULT(X)                                                                                              \
  X(double, loss)         /* negative log likelihood, summed over the blocks that `loss_every` selects */            \
  X(double, predictions)  /* number of predictions in these blocks: pairs of skip-gram, or windows of CBOW */        \
  X(double, magnitude)    /* sum of abs(score) over all blocks; infinite if training has diverged */                 \
  X(double, trained)      /* 1 once the unit is in the rows, stored last; before, and after an error, all are 0 */
// clang-format on
struct Tfw2vResult {
  TFW2V_RESULT(TFW2V_FIELD)
};

// Documents to infer vectors for. The tables are the model's own arrays, which do not change. If their rows
// are not padded, stride and size are both D. An output or a node is one row, as long as a hidden layer.
// clang-format off
#define TFW2V_INFERENCE(X)                                                                                           \
  X(Tfw2vLists, words)    /* ids of each document's words */                                                         \
  X(Tfw2vFloats, alphas)  /* [epochs] learning rates */                                                              \
  X(float*, vectors)      /* [documents, D] result */                                                                \
  X(uint64_t, seed)
// clang-format on
struct Tfw2vInference {
  TFW2V_INFERENCE(TFW2V_FIELD)
};

// Functions of c_api.cc that unit_ops.cc calls. Each returns an error message, or null on success.
extern "C" {
TFW2V_EXPORT const char* tfw2v_draw(const Tfw2vOptions*, const Tfw2vNoiseTable*, const Tfw2vInts* entries,
                                    const Tfw2vInts* key, int64_t max_pairs, Tfw2vUnit*);
TFW2V_EXPORT const char* tfw2v_train(const Tfw2vOptions*, const Tfw2vUnit*, const Tfw2vTables*, const Tfw2vRun*,
                                     Tfw2vResult*);
}
