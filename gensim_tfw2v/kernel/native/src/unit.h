// Arguments of the kernels: plain C structs, filled by by_ctypes.py or tensorflow.cc.
#pragma once
#include <cstdint>

#define TFW2V_EXPORT __attribute__((visibility("default")))

extern "C" {

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
  int32_t max_window;         // what windows are reduced from, before they are cut to w
  int32_t block;          // B, positions a block
  int32_t shared;         // negatives a block
  int32_t span;           // positions whose words' inputs are made of subwords at a time
  int32_t sequential;     // one window after the other, else in blocks
  int32_t group;          // windows of CBOW, or words of a window, that start from the same rows
  int32_t documents;      // tags of documents are inputs, too: see Tfw2vDraws
  int32_t train_words;    // skip-gram of documents: words predict as well
  int32_t concatenated;   // CBOW: so many rows, one after the other, are a hidden layer; 0: their sum
  int32_t padding;        // the input that stands for what lies outside of a document, in these
};

// Subsampling and noise of each word.
struct Tfw2vNoiseTable {
  const float* keep;         // [words] chance to survive subsampling
  const int32_t* noise;      // [words, 2] alias table: probability * 2^31 of the own word, and the other one
  int64_t words;             // V
};

// Lists of numbers, one after the other; none where they are not in use.
struct Tfw2vLists {
  const int32_t* first;      // [number + 1] where in `entries` each list begins
  const int32_t* entries;
  int64_t number, length;
};

// What was drawn of a unit.
struct Tfw2vDraws {
  int64_t kept;              // n, tokens left
  int64_t blocks;
  const int32_t* inputs;     // [n] row of each token in the table of inputs, or list of subwords
  const int32_t* targets;    // [n] row of each token in the table of outputs
  const int32_t* reaches;    // [n, 2] tokens of its window before and after it
  const int32_t* negatives;  // [blocks, shared] rows of the table of outputs
  const int32_t* words;      // [n] by which a token's shard is told, or null: by its target
  const int32_t* leaves;     // [n] path of each token
  struct Tfw2vLists paths;     // 2 * node + code, of hierarchical softmax
  struct Tfw2vLists subwords;  // rows of the table of inputs that make a word's input, its own first
  const int32_t* documents;  // [n] of each token, or null: CBOW's windows hold no tags
  struct Tfw2vLists tags;      // rows of the table of inputs that are in all windows of a document
  int64_t tag_pairs;             // so many positions at the end have no window: input predicts target
  int64_t counted;           // words that were left, each once, however many pairs they make
};

// A table of rows: each takes `stride` floats, a multiple of 16, of which those past D are 0. An
// output and a node are as many rows as a hidden layer.
struct Tfw2vTable {
  float* rows;
  int64_t number;
};

struct Tfw2vTables {
  struct Tfw2vTable inputs, outputs, nodes;
  const float* lock;         // [inputs] factor of each input row's updates; null: all 1
  const float* weights;      // [inputs] of how many rows each is the sum; null: all 1
  int64_t stride;
  int64_t size;              // D
};

struct Tfw2vResult {
  double loss;               // summed negative log likelihoods, of the positions asked for
  double predictions;        // of how many predictions
  double magnitude;          // not finite if training has diverged
};

// Documents of which vectors are inferred from tables whose rows lie D floats apart: all stay. Outputs
// and nodes are numbered by hidden layers.
struct Tfw2vInference {
  struct Tfw2vLists words;   // of each document
  const float* alphas;       // [epochs]
  int64_t epochs;
  float* vectors;            // [documents, D], which are the result
  uint64_t seed;
};

// The functions of c_api.cc.
TFW2V_EXPORT const char* tfw2v_check_options(const struct Tfw2vOptions*);
TFW2V_EXPORT const char* tfw2v_check(const struct Tfw2vOptions*, const struct Tfw2vDraws*,
                                     const struct Tfw2vTables*, int64_t first, int64_t last);
TFW2V_EXPORT void tfw2v_train(const struct Tfw2vOptions*, const struct Tfw2vDraws*,
                              const struct Tfw2vTables*, const float* alphas, int64_t first,
                              int64_t last, int64_t loss_every, struct Tfw2vResult*);
// The kind of processor that the kernel in use was compiled for.
TFW2V_EXPORT const char* tfw2v_variant(void);

}  // extern "C"
