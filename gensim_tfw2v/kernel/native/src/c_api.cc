// The interface for programs without TensorFlow: functions on arrays; and the choice of a kernel.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <string>
#include <vector>

#include "draws.h"
#include "kernel.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tfw2v {

namespace {

struct Kernel {
  const char* name;
  bool runs_here;
  Train train;
  TrainDeterministic train_deterministic;
  Infer infer;
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

std::vector<Kernel> find_usable() {
#if defined(__x86_64__)
  const Features has;
#endif
#define TFW2V_USE(isa, runs_here) \
  {#isa, runs_here, isa::train, isa::train_deterministic, isa::infer, isa::rows}
  const Kernel kernels[] = {
#if defined(TFW2V_HAS_avx512bf16)
      TFW2V_USE(avx512bf16, has.avx512bf16),
#endif
#if defined(TFW2V_HAS_avx512)
      TFW2V_USE(avx512, has.avx512),
#endif
#if defined(TFW2V_HAS_avx2)
      TFW2V_USE(avx2, has.avx2),
#endif
      TFW2V_USE(portable, true)};
  std::vector<Kernel> found;
  for (const Kernel& kernel : kernels)
    if (kernel.runs_here) found.push_back(kernel);
  return found;
}

// Kernels that were compiled and that this processor runs, the fastest first.
const std::vector<Kernel>& usable() {
  static const std::vector<Kernel> found = find_usable();
  return found;
}

// The fastest, or the one that TFW2V_ISA names: in any case, with blanks around it or without.
// `is_known` is whether it is one of these.
Kernel choose(bool& is_known) {
  std::string asked;
  if (const char* text = std::getenv("TFW2V_ISA"))
    for (; *text; ++text)
      if (!std::isspace(static_cast<unsigned char>(*text)))
        asked += static_cast<char>(std::tolower(static_cast<unsigned char>(*text)));
  is_known = true;
  for (const Kernel& kernel : usable())
    if (asked == kernel.name) return kernel;
  is_known = asked.empty();
  return usable().front();
}

const Kernel& chosen() {
  static bool is_known;
  static const Kernel kernel = choose(is_known);
  return kernel;
}

}  // namespace

const RowKernel& row_kernel(bool is_bfloat16) { return chosen().rows[is_bfloat16]; }

}  // namespace tfw2v

namespace {

// The first of these numbers that is not in 0 .. limit - 1, else -1.
int64_t outside(const int32_t* numbers, int64_t count, int64_t limit) {
  bool bad = false;
  for (int64_t i = 0; i < count; ++i) bad |= numbers[i] < 0 || numbers[i] >= limit;
  if (!bad) return -1;
  return std::find_if(numbers, numbers + count,
                      [&](int32_t x) { return x < 0 || x >= limit; }) - numbers;
}

// Whether lists are within their entries, one after the other.
bool ascend(const Tfw2vLists& lists) {
  for (int64_t i = 0; i <= lists.number; ++i)
    if (lists.first[i] < (i ? lists.first[i - 1] : 0) || lists.first[i] > lists.length) return false;
  return true;
}

}  // namespace

extern "C" {

// What is wrong with options, or null.
TFW2V_EXPORT const char* tfw2v_check_options(const Tfw2vOptions* options) {
  const auto& o = *options;
  constexpr int64_t kMost = 1 << 28;  // sums and products of such numbers are int
  if (o.block < 1 || o.shared < 1 || o.shards < 1 || o.window < 1 ||
      o.span < 1 || o.group < 1 || o.negative < 0 || (o.shrink && o.max_window < 1))
    return "an option is below its least value";
  if (o.window > kMost || o.span > kMost || o.negative > kMost ||
      int64_t{o.block} * o.shared > kMost)
    return "the window, the negatives, a block or a span are too large";
  if (o.concatenated && (o.skipgram || !o.documents || o.concatenated < 2 * int64_t{o.window}))
    return "only CBOW of documents has windows of rows one after the other";
  if (o.negative && o.shards > o.shared) return "a block has fewer negatives than there are shards";
  return nullptr;
}

// What is wrong with what is to be trained, or null: called before memory is written.
TFW2V_EXPORT const char* tfw2v_check(const Tfw2vOptions* options, const Tfw2vDraws* draws,
                        const Tfw2vTables* tables, int64_t first, int64_t last) {
  const auto& o = *options;
  const auto& u = *draws;
  if (const char* wrong = tfw2v_check_options(options)) return wrong;
  if (tables->stride % 16 || tables->size < 1 || tables->size > tables->stride)
    return "rows must take a multiple of 16 floats, D of them in use";
  if (first < 0 || last > u.kept || first > last || first % o.block ||
      (last % o.block && last < u.kept))
    return "the positions to train are not whole blocks of the unit";
  const int64_t words = u.subwords.number ? u.subwords.number : tables->inputs.number;
  if (outside(u.inputs, u.kept, words) >= 0) return "a token's row is not in the table of inputs";
  std::vector<bool> has_rows(u.subwords.number);
  for (int64_t a = 0; u.subwords.number && a < u.kept; ++a) {
    if (has_rows[u.inputs[a]]) continue;
    has_rows[u.inputs[a]] = true;
    const int32_t begin = u.subwords.first[u.inputs[a]], end = u.subwords.first[u.inputs[a] + 1];
    if (begin < 0 || end <= begin || end > u.subwords.length ||
        outside(u.subwords.entries + begin, end - begin, tables->inputs.number) >= 0)
      return "a word's subwords are not rows of the table of inputs";
  }
  for (int64_t a = 0; a < u.kept; ++a)
    if (u.reaches[2 * a] < 0 || u.reaches[2 * a] > std::min<int64_t>(a, o.window) ||
        u.reaches[2 * a + 1] < 0 ||
        u.reaches[2 * a + 1] > std::min<int64_t>(u.kept - 1 - a, o.window))
      return "a window is wider than `window`, or reaches out of the unit";
  if (u.words && outside(u.words, u.kept, INT32_MAX) >= 0) return "a word is below 0";
  const int64_t wide = std::max(1, o.concatenated);
  if (o.concatenated && ((u.kept && !u.documents) || o.padding < 0 ||
                         o.padding >= tables->inputs.number))
    return "what lies outside of a document has no row";
  if (u.tag_pairs < 0 || u.tag_pairs > u.kept) return "there are more pairs than positions";
  if (u.tag_pairs && !o.skipgram) return "only skip-gram has pairs";
  if (u.tag_pairs && o.negative && o.shards > 1 && !o.sequential) return "blocks of pairs have negatives of all shards";
  for (int64_t a = u.kept - u.tag_pairs; a < u.kept; ++a)
    if (u.reaches[2 * a] || u.reaches[2 * a + 1]) return "a pair has a window";
  if (u.documents && (o.skipgram || u.subwords.number || tables->weights))
    return "only CBOW without subwords has tags in its windows";
  if (u.documents) {
    if (outside(u.documents, u.kept, u.tags.number) >= 0) return "a token is in no document";
    if (!ascend(u.tags) || outside(u.tags.entries, u.tags.length, tables->inputs.number) >= 0)
      return "a document's tags are not rows of the table of inputs";
  }
  if (o.negative) {
    if (u.blocks * o.block < u.kept) return "there are too few blocks of negatives";
    const int64_t outputs = tables->outputs.number / wide;
    if (outside(u.targets, u.kept, outputs) >= 0 ||
        outside(u.negatives, u.blocks * o.shared, outputs) >= 0)
      return "a target or a negative is not in the table of outputs";
  }
  if (o.hierarchical) {
    if (outside(u.leaves, u.kept, u.paths.number) >= 0)
      return "a word has no path";
    if (!ascend(u.paths)) return "the ends of paths do not ascend";
    if (outside(u.paths.entries, u.paths.length, tables->nodes.number / wide * 2) >= 0)
      return "a node of a path is not in its table";
  }
  return nullptr;
}

TFW2V_EXPORT void* tfw2v_draw(const Tfw2vOptions* options, const Tfw2vNoiseTable* words,
                              const int32_t* entries, int64_t number, const int32_t* key,
                              Tfw2vDraws* draws, int64_t* bad) {
  auto* drawn = new tfw2v::Drawn;
  *bad = tfw2v::draw(*options, *words, entries, number, key, *drawn);
  *draws = tfw2v::draws_of(*drawn, *options);
  return drawn;
}
TFW2V_EXPORT void tfw2v_free(void* drawn) { delete static_cast<tfw2v::Drawn*>(drawn); }

TFW2V_EXPORT void tfw2v_train(const Tfw2vOptions* options, const Tfw2vDraws* draws,
                              const Tfw2vTables* tables, const float* alphas, int64_t first,
                              int64_t last, int64_t loss_every, Tfw2vResult* result) {
  tfw2v::chosen().train(*options, *draws, *tables, alphas, first, last, loss_every, *result);
}

TFW2V_EXPORT void* tfw2v_pool_new(int64_t threads) { return new tfw2v::ThreadPool(static_cast<int>(threads)); }
TFW2V_EXPORT void tfw2v_pool_free(void* pool) { delete static_cast<tfw2v::ThreadPool*>(pool); }
TFW2V_EXPORT void tfw2v_train_deterministic(const Tfw2vOptions* options, const Tfw2vDraws* draws,
                                       const Tfw2vTables* tables, const float* alphas,
                                       int64_t loss_every, int64_t at_once, void* pool,
                                       Tfw2vResult* result) {
  tfw2v::chosen().train_deterministic(*options, *draws, *tables, alphas, loss_every,
                                 static_cast<int>(at_once), *static_cast<tfw2v::ThreadPool*>(pool), *result);
}

// Infers vectors, or says what is wrong with what is given.
TFW2V_EXPORT const char* tfw2v_infer(const Tfw2vOptions* options, const Tfw2vNoiseTable* words,
                                     const Tfw2vTables* tables, const Tfw2vLists* paths,
                                     const Tfw2vInference* documents) {
  const auto& o = *options;
  const Tfw2vLists& given = documents->words;
  const int64_t number = words->words;
  if ((given.number && !ascend(given)) || outside(given.entries, given.length, number) >= 0)
    return "a document has a word that is not in the vocabulary";
  if (tables->inputs.number < number || (o.negative && tables->outputs.number < number))
    return "a word has no row";
  if (o.concatenated && (o.padding < 0 || o.padding >= number))
    return "what lies outside of a document has no row";
  if (o.concatenated && documents->epochs && o.concatenated != 2 * int64_t{o.window} + 1)
    return "one tag is concatenated with a window";
  if (o.hierarchical && paths->number < number) return "a word has no path";
  for (int64_t i = 0; i < given.length && o.hierarchical; ++i) {
    const int32_t *ends = paths->first + given.entries[i], *entries = paths->entries + ends[0];
    if (ends[0] < 0 || ends[1] < ends[0] || ends[1] > paths->length ||
        outside(entries, ends[1] - ends[0], 2 * tables->nodes.number) >= 0)
      return "a node of a path is not in its table";
  }
  tfw2v::chosen().infer(o, *words, *tables, *paths, *documents);
  return nullptr;
}

TFW2V_EXPORT const char* tfw2v_variant(void) { return tfw2v::chosen().name; }

// Names of the kernels that run here, if TFW2V_ISA names another; else null.
TFW2V_EXPORT const char* tfw2v_unknown_isa(void) {
  bool is_known;
  tfw2v::choose(is_known);
  if (is_known) return nullptr;
  static const std::string names = [] {
    std::string joined;
    for (const auto& kernel : tfw2v::usable()) joined += (joined.empty() ? "" : ", ") + std::string(kernel.name);
    return joined;
  }();
  return names.c_str();
}

}  // extern "C"
