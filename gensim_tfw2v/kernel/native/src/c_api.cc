// The interface for programs without TensorFlow: functions on arrays; and the choice of a kernel.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>
#include <vector>

#include "draws.h"
#include "kernel.h"
#include "thread_pool.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tfw2v {

namespace {

struct Kernel {
  const char* name;
  Train* train;
  Infer* infer;
  const RowKernel* rows;
};

#if defined(__x86_64__)
// What the processor and the system can do. Zig's __builtin_cpu_supports says 0 of everything.
struct Features {
  bool avx2 = false, avx512 = false, avx512bf16 = false;
  Features() {
    unsigned a, b, c, d, saved, upper;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_FMA)) return;
    __asm__("xgetbv" : "=a"(saved), "=d"(upper) : "c"(0));  // registers that the system keeps
    if ((saved & 0x06) != 0x06 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
    const unsigned needed = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    avx2 = b & bit_AVX2;
    avx512 = avx2 && (saved & 0xE6) == 0xE6 && (b & needed) == needed;
    avx512bf16 = avx512 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1);
  }
};
#endif

// Kernels that were compiled and that this processor runs, the fastest first.
const std::vector<Kernel>& usable() {
  static const std::vector<Kernel> found = [] {
#if defined(__x86_64__)
    const Features has;
#endif
#define TFW2V_USE(isa, runs_here) \
  if (runs_here) kernels.push_back({#isa, isa::train, isa::infer, isa::rows})
    std::vector<Kernel> kernels;
#if defined(TFW2V_HAS_avx512bf16)
    TFW2V_USE(avx512bf16, has.avx512bf16);
#endif
#if defined(TFW2V_HAS_avx512)
    TFW2V_USE(avx512, has.avx512);
#endif
#if defined(TFW2V_HAS_avx2)
    TFW2V_USE(avx2, has.avx2);
#endif
    TFW2V_USE(portable, true);
    return kernels;
  }();
  return found;
}

// What TFW2V_ISA names: in any case, with blanks around it or without.
std::string asked() {
  std::string name;
  if (const char* text = std::getenv("TFW2V_ISA"))
    for (; *text; ++text)
      if (!std::isspace(static_cast<unsigned char>(*text)))
        name += static_cast<char>(std::tolower(static_cast<unsigned char>(*text)));
  return name;
}

// The usable kernel of this name, or null.
const Kernel* named(const std::string& name) {
  for (const Kernel& kernel : usable())
    if (name == kernel.name) return &kernel;
  return nullptr;
}

const Kernel& chosen() {
  static const Kernel* const kernel = named(asked());
  return kernel ? *kernel : usable().front();
}

}  // namespace

const RowKernel& row_kernel(Wire wire) { return chosen().rows[static_cast<int>(wire)]; }

}  // namespace tfw2v

namespace {

// What is wrong with options, or null.
const char* check_options(const Tfw2vOptions& o) {
  constexpr int64_t kMost = 1 << 28;  // sums and products of such numbers are int
  if (o.block < 1 || o.shared < 1 || o.shards < 1 || o.window < 1 ||
      o.span < 1 || o.group < 1 || o.negative < 0 || (o.shrink && o.max_window < 1))
    return "block, shared, shards, window, span and group must be at least 1, negative at least 0, "
           "and max_window at least 1 with shrink";
  if (o.window > kMost || o.span > kMost || o.negative > kMost ||
      int64_t{o.block} * o.shared > kMost)
    return "the window, the negatives, a block or a span are too large";
  if (o.concatenated && (o.skipgram || !o.documents || o.concatenated < 2 * int64_t{o.window}))
    return "concatenated needs CBOW of documents, and at least 2 * window rows";
  if (o.negative && o.shards > o.shared) return "a block has fewer negatives than there are shards";
  return nullptr;
}

// Whether a number is not in 0 .. limit - 1.
bool outside(Tfw2vInts numbers, int64_t limit) {
  bool bad = false;
  for (int64_t i = 0; i < numbers.size; ++i) bad |= numbers[i] < 0 || numbers[i] >= limit;
  return bad;
}

// Whether list i is within the entries, and its own are below a limit.
bool is_list(const Tfw2vLists& lists, int64_t i, int64_t limit) {
  const int32_t begin = lists.first[i], end = lists.first[i + 1];
  return begin >= 0 && begin <= end && end <= lists.entries.size &&
         !outside({lists.entries.data + begin, end - begin}, limit);
}

bool are_lists(const Tfw2vLists& lists, int64_t limit) {
  for (int64_t i = 0; i < lists.number(); ++i)
    if (!is_list(lists, i, limit)) return false;
  return true;
}

// What is wrong with a unit, or null.
const char* check(const Tfw2vOptions& o, const Tfw2vUnit& u, const Tfw2vTables& t, const Tfw2vRun& run) {
  if (const char* wrong = check_options(o)) return wrong;
  if (t.stride % 16 || t.size < 1 || t.size > t.stride)
    return "rows must take a multiple of 16 floats, D of them in use";
  const int64_t n = u.targets.size, hidden_rows = std::max(1, o.concatenated);
  if (u.inputs.size != n || u.reaches.size != 2 * n || (u.documents.size && u.documents.size != n) ||
      u.shards.size != (o.negative && o.shards > 1 ? n : 0) || u.counts.size != 2 ||
      run.alphas.size != 2 || (t.lock.size && t.lock.size != t.inputs.number) ||
      (t.weights.size && t.weights.size != t.inputs.number))
    return "arrays do not have the sizes of one unit";
  if (run.first < 0 || run.last > n || run.first > run.last || run.first % o.block ||
      (run.last % o.block && run.last < n))
    return "the positions to train are not whole blocks of the unit";
  const int64_t words = t.subwords.number();
  if (outside(u.inputs, words ? words : t.inputs.number))
    return "a token's row is not in the table of inputs";
  std::vector<bool> has_rows(words);
  for (int64_t a = 0; words && a < n; ++a) {
    if (has_rows[u.inputs[a]]) continue;
    has_rows[u.inputs[a]] = true;
    if (t.subwords.first[u.inputs[a]] == t.subwords.first[u.inputs[a] + 1] ||
        !is_list(t.subwords, u.inputs[a], t.inputs.number))
      return "a word's subwords are not rows of the table of inputs";
  }
  for (int64_t a = 0; a < n; ++a)
    if (u.reaches[2 * a] < 0 || u.reaches[2 * a] > std::min<int64_t>(a, o.window) ||
        u.reaches[2 * a + 1] < 0 || u.reaches[2 * a + 1] > std::min<int64_t>(n - 1 - a, o.window))
      return "a window is wider than `window`, or reaches out of the unit";
  if (o.concatenated && ((n && !u.documents.size) || o.padding < 0 || o.padding >= t.inputs.number))
    return "concatenated needs documents, and padding must be a row of the inputs";
  const int64_t pairs = u.counts[0];
  if (pairs < 0 || pairs > n) return "there are more pairs than positions";
  if (pairs && !o.skipgram) return "only skip-gram has pairs";
  if (pairs && u.shards.size && !o.sequential) return "blocks of pairs have negatives of all shards";
  for (int64_t i = 2 * (n - pairs); i < 2 * n; ++i)
    if (u.reaches[i]) return "a pair has a window";
  if (u.documents.size && (o.skipgram || words || t.weights.size))
    return "only CBOW without subwords has tags in its windows";
  const Tfw2vLists tags = {u.first_tags, u.tags};
  if (outside(u.documents, u.documents.size ? tags.number() : 0)) return "a token is in no document";
  if (u.documents.size && !are_lists(tags, t.inputs.number))
    return "a document's tags are not rows of the table of inputs";
  if (o.negative) {
    if (u.negatives.size < (n + o.block - 1) / o.block * o.shared)
      return "there are too few blocks of negatives";
    const int64_t outputs = t.outputs.number / hidden_rows;
    if (outside(u.targets, outputs) || outside(u.negatives, outputs))
      return "a target or a negative is not in the table of outputs";
    if (outside(u.shards, o.shards)) return "a target is in no shard";
  }
  if (o.hierarchical) {
    if (outside(u.targets, t.paths.number())) return "a word has no path";
    if (!are_lists(t.paths, t.nodes.number / hidden_rows * 2))
      return "ends of paths do not ascend, or a node of a path is not in its table";
  }
  if (run.pool && (o.sequential || o.hierarchical || !o.negative || words || pairs || run.first ||
                   run.last < n))
    return "a pool trains whole units in blocks, by negative sampling of words alone";
  return nullptr;
}

}  // namespace

extern "C" {

// Draws a unit, which stays until this thread draws the next.
TFW2V_EXPORT const char* tfw2v_draw(const Tfw2vOptions* options, const Tfw2vNoiseTable* words,
                                    const Tfw2vInts* entries, const Tfw2vInts* key,
                                    Tfw2vUnit* unit) {
  thread_local tfw2v::Drawn drawn;  // new memory would be cleared, page by page, for each unit
  if (const char* wrong = check_options(*options)) return wrong;
  if (const char* wrong = tfw2v::draw(*options, *words, *entries, *key, drawn)) return wrong;
  for (int i = 0; i < kUnitFields; ++i) {
    const std::vector<int32_t>& field = (&drawn.inputs)[i];
    (&unit->inputs)[i] = {field.data(), static_cast<int64_t>(field.size())};
  }
  return nullptr;
}

// Trains a unit. What is wrong with it is found before memory is written.
TFW2V_EXPORT const char* tfw2v_train(const Tfw2vOptions* options, const Tfw2vUnit* unit,
                                     const Tfw2vTables* tables, const Tfw2vRun* run,
                                     Tfw2vResult* result) {
  if (const char* wrong = check(*options, *unit, *tables, *run)) return wrong;
  tfw2v::chosen().train(*options, *unit, *tables, *run, *result);
  return nullptr;
}

TFW2V_EXPORT void* tfw2v_pool_new(int64_t threads) {
  return new tfw2v::ThreadPool(static_cast<int>(threads));
}
TFW2V_EXPORT void tfw2v_pool_free(void* pool) { delete static_cast<tfw2v::ThreadPool*>(pool); }

// Infers vectors.
TFW2V_EXPORT const char* tfw2v_infer(const Tfw2vOptions* options, const Tfw2vNoiseTable* words,
                                     const Tfw2vTables* tables, const Tfw2vInference* documents) {
  const auto& o = *options;
  const Tfw2vLists &given = documents->words, &paths = tables->paths;
  const int64_t V = words->keep.size;
  if (const char* wrong = check_options(*options)) return wrong;
  if (const char* wrong = tfw2v::check_noise(o, *words)) return wrong;
  if (!are_lists(given, V) || outside(given.entries, V)) return "a document has a word that is not in the vocabulary";
  if (tables->inputs.number < V || (o.negative && tables->outputs.number < V))
    return "a word has no row";
  if (o.concatenated && (o.padding < 0 || o.padding >= V)) return "padding must be a word's row";
  if (o.concatenated && documents->alphas.size && o.concatenated != 2 * int64_t{o.window} + 1)
    return "inference needs concatenated = 2 * window + 1 (one tag)";
  if (o.hierarchical && paths.number() < V) return "a word has no path";
  for (int64_t i = 0; i < given.entries.size && o.hierarchical; ++i)
    if (!is_list(paths, given.entries[i], 2 * tables->nodes.number))
      return "a node of a path is not in its table";
  tfw2v::chosen().infer(o, *words, *tables, *documents);
  return nullptr;
}

TFW2V_EXPORT const char* tfw2v_variant(void) { return tfw2v::chosen().name; }

// Names of the kernels that run here, if TFW2V_ISA names another; else null.
TFW2V_EXPORT const char* tfw2v_unknown_isa(void) {
  if (tfw2v::asked().empty() || tfw2v::named(tfw2v::asked())) return nullptr;
  static std::string names;
  if (names.empty())
    for (const auto& kernel : tfw2v::usable())
      names += (names.empty() ? "" : ", ") + std::string(kernel.name);
  return names.c_str();
}

}  // extern "C"
