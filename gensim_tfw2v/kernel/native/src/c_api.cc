// C interface of the kernels for programs without TensorFlow, and selection of the instruction set.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "guard.h"
#include "kernels/draws.h"
#include "kernels/kernel.h"
#include "kernels/thread_pool.h"

namespace tfw2v {

namespace {

struct Kernel {
  const char* name;
  Train* train;
  Infer* infer;
  const RowKernel* rows;
};

#define TFW2V_NAME(isa, base, flags, supported, slower) #isa " "
constexpr char kIsas[] = TFW2V_ISAS(TFW2V_NAME);

// The kernels that are compiled and that this machine supports, fastest first, and their names.
struct Usable {
  std::array<Kernel, sizeof kIsas> kernels;  // only the first n_kernels are set
  int n_kernels = 0;
  char names[sizeof kIsas] = "";  // each followed by a blank

  Usable() {
    bool is_slower = false;  // whether the last kernel is slower than the next one
#define TFW2V_USE(isa)                                                        \
  if (Supports::isa()) {                                                      \
    kernels[n_kernels++] = {#isa, isa::train, isa::infer, isa::rows};         \
    if (is_slower) std::swap(kernels[n_kernels - 2], kernels[n_kernels - 1]); \
    is_slower = IsSlower::isa();                                              \
  }
    TFW2V_COMPILED(TFW2V_USE)
    for (int i = 0; i < n_kernels; ++i) std::strcat(std::strcat(names, kernels[i].name), " ");
  }

  // Returns the kernel of this name, or null. Ignores the case of letters and white space.
  const Kernel* find(const char* name) const {
    const auto is_name = [name](const char* kernel) {
      for (const char* text = name; *text; ++text)
        if (!std::isspace(static_cast<unsigned char>(*text)) &&
            std::tolower(static_cast<unsigned char>(*text)) != *kernel++)
          return false;
      return !*kernel;
    };
    for (int i = 0; i < n_kernels; ++i)
      if (is_name(kernels[i].name)) return &kernels[i];
    return nullptr;
  }
};

const Usable& usable() {
  static const Usable kernels;
  return kernels;
}

// Returns the kernel that TFW2V_ISA names, or the fastest if it names none that is usable.
const Kernel& default_kernel() {
  static const Kernel* const kernel = [] {
    const char* name = std::getenv("TFW2V_ISA");
    return name ? usable().find(name) : nullptr;
  }();
  return kernel ? *kernel : usable().kernels[0];
}

// Returns the kernel that the option `kernel` selects, or null if it is not usable here.
const Kernel* kernel_of(const Tfw2vOptions& options) {
  if (!options.kernel) return &default_kernel();
  int32_t kernel = 0;
#define TFW2V_SELECT(isa, base, flags, supported, slower) \
  if (++kernel == options.kernel) return usable().find(#isa);
  TFW2V_ISAS(TFW2V_SELECT)
  return nullptr;
}

}  // namespace

const RowKernel& row_kernel(Wire wire) { return default_kernel().rows[static_cast<int>(wire)]; }

}  // namespace tfw2v

namespace {

// Returns an error message if options are invalid, else null.
const char* check_options(const Tfw2vOptions& o) {
  constexpr int64_t kMaxOption = 1 << 28;  // kernels compute sums of such options as int
  if (o.block < 1 || o.shared < 1 || o.shards < 1 || o.window < 1 || o.repeats < 1 || o.span < 1 || o.group < 1 ||
      o.negative < 0 || (o.shrink && o.max_window < 1))
    return "block, shared, shards, window, repeats, span and group must be at least 1, negative at "
           "least 0, and max_window at least 1 with shrink";
  if (o.window > kMaxOption || o.repeats > kMaxOption || o.span > kMaxOption || o.negative > kMaxOption ||
      int64_t{o.block} * o.shared > kMaxOption)
    return "window, repeats, span, negative and block * shared must be at most 2^28";
  if (o.concatenated && (o.skipgram || !o.documents || o.concatenated < 2 * int64_t{o.window}))
    return "concatenated needs CBOW of documents, and must be at least 2 * window";
  if (o.negative && o.shards > o.shared) return "shared (negatives per block) must be at least shards";
  if (tfw2v::kernel_of(o)) return nullptr;
  static const std::string message =
      "kernel is not one that this processor and this build have. They have: " + std::string(tfw2v::usable().names);
  return message.c_str();
}

// Returns whether an integer is not in 0 .. limit - 1.
bool outside(Tfw2vInts integers, int64_t limit) {
  const uint32_t above = static_cast<uint32_t>(std::min(limit, int64_t{1} << 31));
  uint32_t bad = 0;  // negative numbers are 2^31 or more as uint32_t
  for (int64_t i = 0; i < integers.size; ++i) bad |= static_cast<uint32_t>(integers[i]) >= above;
  return bad;
}

// Returns whether list i is within the entries, and its entries are in 0 .. limit - 1.
bool is_list(const Tfw2vLists& lists, int64_t i, int64_t limit) {
  const int32_t begin = lists.offsets[i], end = lists.offsets[i + 1];
  return begin >= 0 && begin <= end && end <= lists.entries.size &&
         !outside({lists.entries.data + begin, end - begin}, limit);
}

// Returns whether is_list() is true for all lists. It checks `first`, then `entries`, in two fast passes over memory,
// because the paths of the whole vocabulary are checked for each unit.
bool are_lists(const Tfw2vLists& lists, int64_t limit) {
  const int64_t n_lists = lists.n_lists();
  if (!n_lists) return true;
  const int32_t begin = lists.offsets[0], end = lists.offsets[n_lists];
  bool ascend = begin >= 0 && end <= lists.entries.size;
  for (int64_t i = 0; i < n_lists; ++i) ascend &= lists.offsets[i] <= lists.offsets[i + 1];
  return ascend && !outside({lists.entries.data + begin, end - begin}, limit);
}

// Returns an error message if a unit, the tables or the run are invalid, else null.
const char* check(const Tfw2vOptions& o, const Tfw2vUnit& u, const Tfw2vTables& t, const Tfw2vRun& run) {
  if (const char* wrong = check_options(o)) return wrong;
  if (t.stride % 16 || t.size < 1 || t.size > t.stride)
    return "rows must be padded to a multiple of 16 floats, and have at least 1 element";
  const int64_t n = u.targets.size, hidden_rows = std::max(1, o.concatenated);
  if (u.inputs.size != n || u.reaches.size != 2 * n || (u.documents.size && u.documents.size != n) ||
      u.shards.size != (o.negative && o.shards > 1 ? n : 0) || u.counts.size != 2 || run.alphas.size != 2 ||
      (t.lock.size && t.lock.size != t.inputs.n_rows) || (t.weights.size && t.weights.size != t.inputs.n_rows))
    return "array sizes do not match. With targets [n]: inputs [n], reaches [n, 2], counts [2], "
           "alphas [2], documents [n] or [0], and shards [n] with several shards of negatives, else [0]. "
           "With i rows of inputs: lock and weights [i] or [0]";
  if (run.begin < 0 || run.end > n || run.begin > run.end || run.begin % o.block ||
      (run.end % o.block && run.end < n))
    return "first and last must be multiples of block with 0 <= first <= last <= n; last may be n";
  const int64_t n_words = t.subwords.n_lists();
  if (outside(u.inputs, n_words ? n_words : t.inputs.n_rows))
    return "inputs must be rows of the table of inputs or, with subwords, indices of lists of subwords";
  std::vector<bool> has_rows(n_words);
  for (int64_t a = 0; n_words && a < n; ++a) {
    if (has_rows[u.inputs[a]]) continue;
    has_rows[u.inputs[a]] = true;
    if (t.subwords.offsets[u.inputs[a]] == t.subwords.offsets[u.inputs[a] + 1] ||
        !is_list(t.subwords, u.inputs[a], t.inputs.n_rows))
      return "subwords of each word must be one or more rows of the table of inputs";
  }
  for (int64_t a = 0; a < n; ++a)
    if (u.reaches[2 * a] < 0 || u.reaches[2 * a] > std::min<int64_t>(a, o.window) || u.reaches[2 * a + 1] < 0 ||
        u.reaches[2 * a + 1] > std::min<int64_t>(n - 1 - a, o.window))
      return "reaches of a window must be in 0 .. window, and inside of the unit";
  if (o.concatenated && ((n && !u.documents.size) || o.padding < 0 || o.padding >= t.inputs.n_rows))
    return "concatenated needs documents [n], and padding must be a row of the table of inputs";
  const int64_t n_pairs = u.counts[0];
  if (n_pairs < 0 || n_pairs > n) return "(tag, token) pairs, counts[0], must be in 0 .. n";
  if (n_pairs && !o.skipgram) return "(tag, token) pairs need skip-gram";
  if (n_pairs && u.shards.size && !o.sequential) return "(tag, token) pairs in blocks need shards = 1";
  for (int64_t i = 2 * (n - n_pairs); i < 2 * n; ++i)
    if (u.reaches[i]) return "reaches of (tag, token) pairs must be 0";
  if (u.documents.size && (o.skipgram || n_words || t.weights.size))
    return "documents need CBOW without subwords and weights";
  const Tfw2vLists tags = {u.first_tags, u.tags};
  if (outside(u.documents, u.documents.size ? tags.n_lists() : 0))
    return "documents must be indices of lists of tags";
  if (u.documents.size && !are_lists(tags, t.inputs.n_rows))
    return "first_tags must ascend within tags, which must be rows of the table of inputs";
  if (o.negative) {
    if (u.negatives.size < (n + o.block - 1) / o.block * o.shared)
      return "negatives must have a row of `shared` ids for each block";
    const int64_t outputs = t.outputs.n_rows / hidden_rows;
    if (outside(u.targets, outputs) || outside(u.negatives, outputs))
      return "targets and negatives must be rows of the table of outputs";
    if (outside(u.shards, o.shards)) return "shards of targets must be in 0 .. shards - 1";
  }
  if (o.hierarchical) {
    if (outside(u.targets, t.paths.n_lists())) return "each target needs a path";
    if (!are_lists(t.paths, t.nodes.n_rows / hidden_rows * 2))
      return "ends of paths must ascend, and their nodes must be rows of the table of nodes";
  }
  if (run.pool && (o.sequential || o.hierarchical || !o.negative || n_words || n_pairs || run.begin || run.end < n))
    return "deterministic training by threads needs a whole unit in blocks, with negative sampling, and "
           "without hierarchical softmax, subwords and (tag, token) pairs";
  return nullptr;
}

// Trains a unit, and returns an error message or null, as tfw2v_train does.
const char* train_whole(const Tfw2vOptions& o, const Tfw2vUnit& u, const Tfw2vTables& t, const Tfw2vRun& run,
                        Tfw2vResult& result) {
  if (const char* wrong = check(o, u, t, run)) return wrong;
  tfw2v::kernel_of(o)->train(o, u, t, run, result);
  return nullptr;
}

// Returns an error message if any piece of a unit that is drawn in pieces would be invalid, else null.
const char* check_pieces(const Tfw2vOptions& o, const Tfw2vUnit& u, const Tfw2vTables& t, const Tfw2vRun& run) {
  const int64_t n = u.targets.size, V = t.noise.keep.size;
  const Tfw2vLists tags = {u.first_tags, u.tags};
  if (!o.skipgram || !o.documents || run.pool || run.begin || run.end != n || u.counts[4] < 1)
    return "a unit in pieces needs skip-gram of documents, and is trained whole, without a pool";
  if (o.negative && o.shards > 1 && !o.sequential) return "(tag, token) pairs in blocks need shards = 1";
  Tfw2vOptions no_negatives = o;
  no_negatives.negative = 0;
  const int32_t counts[2] = {0, u.counts[1]};
  Tfw2vUnit windows = u;
  windows.shards = windows.documents = {};
  windows.counts = {counts, 2};
  if (const char* wrong = check(no_negatives, windows, t, run)) return wrong;
  if (const char* wrong = check_options(o)) return wrong;
  if (const char* wrong = tfw2v::check_noise(o, t.noise)) return wrong;
  if (u.documents.size != n) return "array sizes do not match. With targets [n]: documents [n]";
  if (V > t.inputs.n_rows || (o.negative && V > t.outputs.n_rows) || outside(u.targets, V))
    return "targets must be words, and each word needs a row of inputs and of outputs";
  if (outside(u.documents, tags.n_lists()) || !are_lists(tags, t.inputs.n_rows))
    return "documents must be indices of lists of tags, which must be rows of the table of inputs";
  for (int64_t word = 0; word < V && o.negative; ++word)
    if (t.noise.noise[2 * word + 1] < 0 || t.noise.noise[2 * word + 1] >= V)
      return "words of noise must be in 0 .. V - 1";
  return nullptr;
}

// Trains a unit whose (tag, token) pairs are drawn in pieces; see draws.h. Each kind of positions, windows and
// pairs, has the whole range of learning rates, as in a unit that is drawn at once.
const char* train_pieces(const Tfw2vOptions& o, const Tfw2vUnit& u, const Tfw2vTables& t, const Tfw2vRun& run,
                         Tfw2vResult& result) {
  if (const char* wrong = check_pieces(o, u, t, run)) return wrong;
  const double alpha = run.alphas[0], fall = run.alphas[1] - alpha;
  for (tfw2v::PairPieces pieces(o, t.noise, u); pieces.next();) {
    const float alphas[2] = {static_cast<float>(alpha + fall * pieces.begin()),
                             static_cast<float>(alpha + fall * pieces.end())};
    const Tfw2vUnit piece = pieces.unit();
    Tfw2vRun whole = run;
    whole.alphas = {alphas, 2};
    whole.end = piece.targets.size;
    if (const char* wrong = train_whole(o, piece, t, whole, result)) return wrong;
  }
  return nullptr;
}

// Returns an error message if arguments of tfw2v_infer are invalid, else null.
const char* check_inference(const Tfw2vOptions& o, const Tfw2vNoiseTable& words, const Tfw2vTables& t,
                            const Tfw2vInference& documents) {
  const Tfw2vLists &ids = documents.words, &paths = t.paths;
  const int64_t V = words.keep.size;
  if (const char* wrong = check_options(o)) return wrong;
  if (const char* wrong = tfw2v::check_noise(o, words)) return wrong;
  if (!are_lists(ids, V) || outside(ids.entries, V))
    return "word ids of documents must be in 0 .. V - 1, with V words";
  if (t.inputs.n_rows < V || (o.negative && t.outputs.n_rows < V))
    return "the tables of inputs and outputs need a row for each word";
  if (o.concatenated && (o.padding < 0 || o.padding >= V)) return "padding must be a word id";
  if (o.concatenated && documents.alphas.size && o.concatenated != 2 * int64_t{o.window} + 1)
    return "inference needs concatenated = 2 * window + 1 (one tag)";
  if (o.hierarchical && paths.n_lists() < V) return "each word needs a path";
  for (int64_t i = 0; i < ids.entries.size && o.hierarchical; ++i)
    if (!is_list(paths, ids.entries[i], 2 * t.nodes.n_rows))
      return "ends of paths must ascend, and their nodes must be rows of the table of nodes";
  return nullptr;
}

}  // namespace

extern "C" {

// Draws a unit; see draw() in draws.h. Its arrays are valid until the same thread draws the next one. Returns an
// error message, or null on success, like tfw2v_train and tfw2v_infer.
TFW2V_EXPORT const char* tfw2v_draw(const Tfw2vOptions* options, const Tfw2vNoiseTable* words,
                                    const Tfw2vInts* entries, const Tfw2vInts* key, int64_t max_pairs,
                                    Tfw2vUnit* unit) {
  return tfw2v::guarded_message([&]() -> const char* {
    // Its memory is reused, because the system would have to zero the pages of new memory for each unit.
    thread_local tfw2v::Drawn drawn;
    if (const char* wrong = check_options(*options)) return wrong;
    if (const char* wrong = tfw2v::draw(*options, *words, *entries, *key, max_pairs, drawn)) return wrong;
    for (int i = 0; i < kUnitFields; ++i) {
      const std::vector<int32_t>& field = (&drawn.inputs)[i];
      (&unit->inputs)[i] = {field.data(), static_cast<int64_t>(field.size())};
    }
    return nullptr;
  });
}

// Trains a unit. All arguments are checked before any row changes. All fields of `result` must be 0. Once
// result->trained is 1, the rows contain the unit, even if the caller is interrupted before it can record that.
TFW2V_EXPORT const char* tfw2v_train(const Tfw2vOptions* options, const Tfw2vUnit* unit, const Tfw2vTables* tables,
                                     const Tfw2vRun* run, Tfw2vResult* result) {
  return tfw2v::guarded_message([&]() -> const char* {
    Tfw2vResult sums = {};
    const char* wrong = tfw2v::is_in_pieces(*unit) ? train_pieces(*options, *unit, *tables, *run, sums)
                                                   : train_whole(*options, *unit, *tables, *run, sums);
    if (wrong) return wrong;
    *result = sums;
    double trained = 1;
    __atomic_store(&result->trained, &trained, __ATOMIC_RELEASE);
    return nullptr;
  });
}

// Returns a pool of `threads` threads, or null if the system cannot start them.
TFW2V_EXPORT void* tfw2v_pool_new(int64_t threads) {
  return tfw2v::guarded<void*>(nullptr, [=] { return new tfw2v::ThreadPool(static_cast<int>(threads)); });
}
TFW2V_EXPORT void tfw2v_pool_free(void* pool) noexcept { delete static_cast<tfw2v::ThreadPool*>(pool); }

// Infers vectors of documents; see inference.h.
TFW2V_EXPORT const char* tfw2v_infer(const Tfw2vOptions* options, const Tfw2vNoiseTable* words,
                                     const Tfw2vTables* tables, const Tfw2vInference* documents) {
  return tfw2v::guarded_message([&]() -> const char* {
    if (const char* wrong = check_inference(*options, *words, *tables, *documents)) return wrong;
    tfw2v::kernel_of(*options)->infer(*options, *words, *tables, *documents);
    return nullptr;
  });
}

// Returns the name of the default kernel.
TFW2V_EXPORT const char* tfw2v_variant(void) noexcept { return tfw2v::default_kernel().name; }

// Returns the names of all instruction sets in isas.h, or of the usable ones, each followed by a blank.
TFW2V_EXPORT const char* tfw2v_isas(void) noexcept { return tfw2v::kIsas; }
TFW2V_EXPORT const char* tfw2v_usable_isas(void) noexcept { return tfw2v::usable().names; }

// Returns the names and fields of the structs that Python fills or reads, in order.
TFW2V_EXPORT const char* tfw2v_layout(void) noexcept {
#define TFW2V_FIELD_NAME(type, name) #type " " #name ";"
#define TFW2V_ARRAY_NAME(name) "Tfw2vInts " #name ";"
#define TFW2V_LAYOUT(name, fields) #name "{" fields(TFW2V_FIELD_NAME) "}"
  // clang-format off
  return TFW2V_LAYOUT(Tfw2vLists, TFW2V_LISTS)
      TFW2V_LAYOUT(Tfw2vOptions, TFW2V_OPTIONS)
      TFW2V_LAYOUT(Tfw2vNoiseTable, TFW2V_NOISE_TABLE)
      "Tfw2vUnit{" TFW2V_UNIT(TFW2V_ARRAY_NAME) "}"
      TFW2V_LAYOUT(Tfw2vTable, TFW2V_TABLE)
      TFW2V_LAYOUT(Tfw2vTables, TFW2V_TABLES)
      TFW2V_LAYOUT(Tfw2vRun, TFW2V_RUN)
      TFW2V_LAYOUT(Tfw2vResult, TFW2V_RESULT)
      TFW2V_LAYOUT(Tfw2vInference, TFW2V_INFERENCE)
      TFW2V_LAYOUT(ScannerState, TFW2V_SCANNER_STATE)
      TFW2V_LAYOUT(Shard, TFW2V_SHARD);
  // clang-format on
}

}  // extern "C"
