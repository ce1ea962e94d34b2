// Ops that draw and train units, and that list the distinct rows of a job.
#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/draws.h"
#include "tensorflow/op.h"

namespace tfw2v::ops {
namespace {

constexpr int kOptions = sizeof(Tfw2vOptions) / sizeof(int32_t);

// Makes the state of ops on units: their options.
void* make_options(TF_OpKernelConstruction* construction) {
  Status status;
  auto* options = make_state<Tfw2vOptions>(construction);
  if (!options) return nullptr;
  int32_t n_options = 0, n_bytes;  // checked, because TensorFlow would cut a longer list without an error
  TF_OpKernelConstruction_GetAttrSize(construction, "options", &n_options, &n_bytes, status);
  if (status.ok() && n_options != kOptions)
    TF_SetStatus(status, kInvalidArgument, "the options are those of other compiled kernels");
  if (status.ok())
    TF_OpKernelConstruction_GetAttrInt32List(construction, "options", reinterpret_cast<int32_t*>(options), kOptions,
                                             status);
  if (!status.ok()) TF_OpKernelConstruction_Failure(construction, status);
  return options;
}

constexpr Attribute kHasOptions = {"options: list(int)", make_options, destroy<Tfw2vOptions>, true};

// Tfw2vDraw(entries [e], key [2], keep [V], noise [V, 2]) -> unit: the arrays of Tfw2vUnit, flattened.
void draw(void* kernel, TF_OpKernelContext* context) {
  const Input entries(context, 0), key(context, 1), keep(context, 2), noise(context, 3);
  const Tfw2vNoiseTable words = {keep.array<float>(), noise.array<int32_t>()};
  const Tfw2vInts entry = entries.array<int32_t>(), keys = key.array<int32_t>();
  Tfw2vUnit unit;
  const char* wrong = tfw2v_draw(static_cast<Tfw2vOptions*>(kernel), &words, &entry, &keys,
                                 std::numeric_limits<int32_t>::max(), &unit);
  if (wrong) return fail(context, "Tfw2vDraw", wrong);
  if (is_in_pieces(unit))  // a job needs the ids of all rows, so that pieces would save little
    return fail(context, "Tfw2vDraw", "a unit has 2^31 (tag, token) pairs or more");
  for (int i = 0; i < kUnitFields; ++i) {
    const Tfw2vInts& field = (&unit.inputs)[i];
    auto* to = output<int32_t>(context, i, kInt32, field.size, 0);
    if (to) std::copy_n(field.data, field.size, to);
  }
}

// Tfw2vTrain(inputs, .., unit) -> sums [3]: loss, predictions and magnitude of Tfw2vResult. Trains inputs, outputs
// and nodes in place. For the arguments see Tfw2vTables, Tfw2vRun and Tfw2vUnit.
void train(void* kernel, TF_OpKernelContext* context) {
  const Input inputs(context, 0), outputs(context, 1), nodes(context, 2), size(context, 3);
  const Input lock(context, 4), weights(context, 5), alphas(context, 6), loss_every(context, 7);
  std::deque<Input> ints;  // 4 arrays of paths and subwords, then the fields of a unit
  for (int i = 8; i < TF_NumInputs(context); ++i) ints.emplace_back(context, i);
  const auto array = [&](int i) { return ints[i].array<int32_t>(); };
  const Tfw2vTables tables = {{inputs.data<float>(), inputs.dim(0)},
                              {outputs.data<float>(), outputs.dim(0)},
                              {nodes.data<float>(), nodes.dim(0)},
                              lock.array<float>(),
                              weights.array<float>(),
                              {array(0), array(1)},
                              {array(2), array(3)},
                              inputs.dim(1),
                              *size.data<int32_t>()};
  if (ints.size() != 4 + kUnitFields || (tables.outputs.n_rows && outputs.dim(1) != tables.stride) ||
      (tables.nodes.n_rows && nodes.dim(1) != tables.stride))
    return fail(context, "Tfw2vTrain",
                "array sizes do not match: rows of outputs and nodes must be as "
                "long as rows of inputs, and unit must be one array per field");
  Tfw2vUnit unit;
  for (int i = 0; i < kUnitFields; ++i) (&unit.inputs)[i] = array(4 + i);
  const Tfw2vRun run = {alphas.array<float>(), 0, unit.targets.size, *loss_every.data<int64_t>(), 1, 1, nullptr};
  Tfw2vResult result = {};
  if (const char* wrong = tfw2v_train(static_cast<Tfw2vOptions*>(kernel), &unit, &tables, &run, &result))
    return fail(context, "Tfw2vTrain", wrong);
  if (auto* to = output<double>(context, 0, kDouble, 3, 0))
    to[0] = result.loss, to[1] = result.predictions, to[2] = result.magnitude;
}

// Tfw2vDistinct(ids [n], limit) -> the distinct ids, ascending, and [n] the index of each id in that list.
void distinct(void*, TF_OpKernelContext* context) {
  const Input ids(context, 0), limit(context, 1);
  const auto* id = ids.data<int32_t>();
  const int64_t n_ids = ids.size(), end = *limit.data<int32_t>();
  std::vector<uint8_t> is_used(end);
  for (int64_t i = 0; i < n_ids; ++i) {
    if (id[i] < 0 || id[i] >= end) return fail(context, "Tfw2vDistinct", "ids must be in 0 .. limit - 1");
    is_used[id[i]] = 1;
  }
  std::vector<int32_t> distinct_ids;
  const std::unique_ptr<int32_t[]> index_of(new int32_t[end]);
  for (int64_t id = 0; id < end; ++id)
    if (is_used[id]) {
      index_of[id] = static_cast<int32_t>(distinct_ids.size());
      distinct_ids.push_back(static_cast<int32_t>(id));
    }
  auto* to = output<int32_t>(context, 0, kInt32, distinct_ids.size(), 0);
  auto* indices = output<int32_t>(context, 1, kInt32, n_ids, 0);
  if (!to || !indices) return;
  std::copy(distinct_ids.begin(), distinct_ids.end(), to);
  for (int64_t i = 0; i < n_ids; ++i) indices[i] = index_of[id[i]];
}

// Tfw2vReuse(words [n], negatives [m], sizes [4]) -> [m] the negatives after reuse(); see draws.h.
// sizes: V, shards, uses and min_kept, the arguments of reuse().
void reuse(void*, TF_OpKernelContext* context) {
  const Input words(context, 0), negatives(context, 1), sizes(context, 2);
  const Tfw2vInts size = sizes.array<int32_t>();
  if (size.size != 4 || *std::min_element(size.data, size.data + 4) < 1)
    return fail(context, "Tfw2vReuse", "sizes must be 4 numbers of at least 1");
  auto* to = output<int32_t>(context, 0, kInt32, negatives.size(), 0);
  if (!to) return;
  std::copy_n(negatives.data<int32_t>(), negatives.size(), to);
  if (!tfw2v::reuse(words.array<int32_t>(), size[0], size[1], size[2], size[3], to, negatives.size()))
    fail(context, "Tfw2vReuse", "words and negatives must be in 0 .. V - 1");
}

__attribute__((constructor)) void register_ops() {
  define<draw>("Tfw2vDraw", {"entries: int32", "key: int32", "keep: float", "noise: int32"}, {"unit: fields * int32"},
               kHasOptions);
  define<train>("Tfw2vTrain",
                {"inputs: float", "outputs: float", "nodes: float", "size: int32", "lock: float", "weights: float",
                 "alphas: float", "loss_every: int64", "path_starts: int32", "paths: int32", "subword_starts: int32",
                 "subwords: int32", "unit: fields * int32"},
                {"sums: double"}, kHasOptions);
  define<reuse>("Tfw2vReuse", {"words: int32", "negatives: int32", "sizes: int32"}, {"reused: int32"});
  define<distinct>("Tfw2vDistinct", {"ids: int32", "limit: int32"}, {"distinct: int32", "indices: int32"});
}

}  // namespace
}  // namespace tfw2v::ops
