// TensorFlow ops that call the kernels. They use TensorFlow's C API, declared below: it is stable
// between versions, so that TensorFlow's headers are not needed.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <fstream>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "draws.h"
#include "guard.h"
#include "rows.h"
#include "text.h"
#include "unit.h"

extern "C" {
typedef struct TF_Status TF_Status;
typedef struct TF_Tensor TF_Tensor;
typedef struct TF_OpDefinitionBuilder TF_OpDefinitionBuilder;
typedef struct TF_KernelBuilder TF_KernelBuilder;
typedef struct TF_OpKernelConstruction TF_OpKernelConstruction;
typedef struct TF_OpKernelContext TF_OpKernelContext;
typedef struct TF_ShapeInferenceContext TF_ShapeInferenceContext;

TF_Status* TF_NewStatus(void);
void TF_DeleteStatus(TF_Status*);
int TF_GetCode(const TF_Status*);
void TF_SetStatus(TF_Status*, int code, const char* message);
TF_OpDefinitionBuilder* TF_NewOpDefinitionBuilder(const char*);
void TF_OpDefinitionBuilderAddInput(TF_OpDefinitionBuilder*, const char*);
void TF_OpDefinitionBuilderAddOutput(TF_OpDefinitionBuilder*, const char*);
void TF_OpDefinitionBuilderAddAttr(TF_OpDefinitionBuilder*, const char*);
void TF_OpDefinitionBuilderSetIsStateful(TF_OpDefinitionBuilder*, bool);
void TF_OpDefinitionBuilderSetShapeInferenceFunction(
    TF_OpDefinitionBuilder*, void (*)(TF_ShapeInferenceContext*, TF_Status*));
void TF_ShapeInferenceContextSetUnknownShape(TF_ShapeInferenceContext*, TF_Status*);
void TF_RegisterOpDefinition(TF_OpDefinitionBuilder*, TF_Status*);
TF_KernelBuilder* TF_NewKernelBuilder(const char*, const char*,
                                      void* (*)(TF_OpKernelConstruction*),
                                      void (*)(void*, TF_OpKernelContext*), void (*)(void*));
void TF_RegisterKernelBuilder(const char*, TF_KernelBuilder*, TF_Status*);
void TF_OpKernelConstruction_GetAttrSize(TF_OpKernelConstruction*, const char*, int32_t*, int32_t*,
                                         TF_Status*);
void TF_OpKernelConstruction_GetAttrInt32List(TF_OpKernelConstruction*, const char*, int32_t*, int,
                                              TF_Status*);
void TF_OpKernelConstruction_GetAttrType(TF_OpKernelConstruction*, const char*, int*, TF_Status*);
void TF_OpKernelConstruction_Failure(TF_OpKernelConstruction*, TF_Status*);
void TF_OpKernelContext_Failure(TF_OpKernelContext*, TF_Status*);
int TF_NumInputs(TF_OpKernelContext*);
void TF_GetInput(TF_OpKernelContext*, int, TF_Tensor**, TF_Status*);
TF_Tensor* TF_AllocateOutput(TF_OpKernelContext*, int, int, const int64_t*, int, size_t,
                             TF_Status*);
void* TF_TensorData(const TF_Tensor*);
int64_t TF_Dim(const TF_Tensor*, int);
int TF_NumDims(const TF_Tensor*);
int64_t TF_TensorElementCount(const TF_Tensor*);
void TF_DeleteTensor(TF_Tensor*);
}

namespace {

// Values of TF_DataType and TF_Code in TensorFlow's C API.
enum Type { kFloat = 1, kDouble = 2, kInt32 = 3, kUint8 = 4, kInt8 = 6, kInt64 = 9, kBfloat16 = 14 };
constexpr int kInvalidArgument = 3, kResourceExhausted = 8;
constexpr int kOptions = sizeof(Tfw2vOptions) / sizeof(int32_t);

class Status {
 public:
  Status() : status_(TF_NewStatus()) {}
  ~Status() { TF_DeleteStatus(status_); }
  operator TF_Status*() { return status_; }
  bool ok() const { return TF_GetCode(status_) == 0; }

 private:
  TF_Status* status_;
};

// An input of an op. It is released by the destructor.
class Input {
 public:
  Input(TF_OpKernelContext* context, int number) {
    Status status;
    TF_GetInput(context, number, &tensor_, status);
    data_ = TF_TensorData(tensor_);
    size_ = TF_TensorElementCount(tensor_);
  }
  ~Input() { TF_DeleteTensor(tensor_); }
  template <class T> T* data() const { return static_cast<T*>(data_); }
  template <class T> Tfw2vArray<T> array() const { return {data<T>(), size_}; }
  int64_t size() const { return size_; }
  // Size of a dimension, or 1 if the input has fewer dimensions.
  int64_t dim(int which) const { return which < TF_NumDims(tensor_) ? TF_Dim(tensor_, which) : 1; }

 private:
  TF_Tensor* tensor_ = nullptr;
  void* data_;
  int64_t size_;
};

// Allocates nothing itself, because memory may be short.
void fail(TF_OpKernelContext* context, const char* op, const char* message) {
  Status status;
  char text[512];
  std::snprintf(text, sizeof text, "%s: %s", op, message);
  const bool is_short = !std::strcmp(message, tfw2v::kNoMemory);
  TF_SetStatus(status, is_short ? kResourceExhausted : kInvalidArgument, text);
  TF_OpKernelContext_Failure(context, status);
}

// Allocates output `number`, of shape [rows, columns], or [rows] if columns is 0. Returns null on
// failure.
template <class T>
T* output(TF_OpKernelContext* context, int number, Type type, int64_t rows, int64_t columns) {
  Status status;
  const int64_t dims[2] = {rows, columns};
  TF_Tensor* tensor = TF_AllocateOutput(context, number, type, dims, columns ? 2 : 1,
                                        rows * (columns ? columns : 1) * sizeof(T), status);
  if (!status.ok()) {
    TF_OpKernelContext_Failure(context, status);
    return nullptr;
  }
  T* data = static_cast<T*>(TF_TensorData(tensor));
  TF_DeleteTensor(tensor);  // the context holds its own reference
  return data;
}

// Makes the state of ops on units: their options.
void* make(TF_OpKernelConstruction* construction) {
  Status status;
  auto* options = new Tfw2vOptions;
  int32_t number = 0, bytes;  // a longer list would be cut without an error
  TF_OpKernelConstruction_GetAttrSize(construction, "options", &number, &bytes, status);
  if (status.ok() && number != kOptions)
    TF_SetStatus(status, kInvalidArgument, "the options are those of other compiled kernels");
  if (status.ok())
    TF_OpKernelConstruction_GetAttrInt32List(construction, "options",
                                             reinterpret_cast<int32_t*>(options), kOptions, status);
  if (!status.ok()) TF_OpKernelConstruction_Failure(construction, status);
  return options;
}

template <class Made>
void destroy(void* made) {
  delete static_cast<Made*>(made);
}

// Makes the state of ops that transfer rows: the type of the transferred rows.
void* make_typed(TF_OpKernelConstruction* construction) {
  Status status;
  auto* type = new int(0);
  TF_OpKernelConstruction_GetAttrType(construction, "dtype", type, status);
  if (!status.ok()) TF_OpKernelConstruction_Failure(construction, status);
  return type;
}

// Tfw2vDraw(entries [e], key [2], keep [V], noise [V, 2]) -> unit: the arrays of Tfw2vUnit, flattened.
void draw(void* kernel, TF_OpKernelContext* context) {
  const Input entries(context, 0), key(context, 1), keep(context, 2), noise(context, 3);
  const Tfw2vNoiseTable words = {keep.array<float>(), noise.array<int32_t>()};
  const Tfw2vInts entry = entries.array<int32_t>(), keys = key.array<int32_t>();
  Tfw2vUnit unit;
  const char* wrong = tfw2v_draw(static_cast<Tfw2vOptions*>(kernel), &words, &entry, &keys,
                                 std::numeric_limits<int32_t>::max(), &unit);
  if (wrong) return fail(context, "Tfw2vDraw", wrong);
  if (tfw2v::is_in_pieces(unit))  // a job needs the ids of all rows, so that pieces would save little
    return fail(context, "Tfw2vDraw", "a unit has 2^31 (tag, token) pairs or more");
  for (int i = 0; i < kUnitFields; ++i) {
    const Tfw2vInts& field = (&unit.inputs)[i];
    auto* to = output<int32_t>(context, i, kInt32, field.size, 0);
    if (to) std::copy_n(field.data, field.size, to);
  }
}

// Tfw2vTrain(inputs, .., unit) -> sums [3]: the first fields of Tfw2vResult. Trains inputs, outputs and nodes
// in place. For the arguments see Tfw2vTables, Tfw2vRun and Tfw2vUnit.
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
  if (ints.size() != 4 + kUnitFields ||
      (tables.outputs.number && outputs.dim(1) != tables.stride) ||
      (tables.nodes.number && nodes.dim(1) != tables.stride))
    return fail(context, "Tfw2vTrain", "array sizes do not match: rows of outputs and nodes must be as "
                         "long as rows of inputs, and unit must be one array per field");
  Tfw2vUnit unit;
  for (int i = 0; i < kUnitFields; ++i) (&unit.inputs)[i] = array(4 + i);
  const Tfw2vRun run = {alphas.array<float>(), 0, unit.targets.size, *loss_every.data<int64_t>(), 1,
                        nullptr};
  Tfw2vResult result = {};
  if (const char* wrong =
          tfw2v_train(static_cast<Tfw2vOptions*>(kernel), &unit, &tables, &run, &result))
    return fail(context, "Tfw2vTrain", wrong);
  if (auto* to = output<double>(context, 0, kDouble, 3, 0))
    to[0] = result.loss, to[1] = result.predictions, to[2] = result.magnitude;
}

// Inputs that the ops below share: a table [rows, stride], and ids [n] of its rows. Transferred rows
// have `columns` elements.
struct Travel {
  Travel(TF_OpKernelContext* context, int64_t columns)
      : ids(context, 1), held(context, 0),
        table{held.data<float>(), held.dim(1), columns} {}

  // Returns an error message, or null.
  const char* wrong() const {
    if (table.size < 1 || table.size > table.stride)
      return "rows must have at least 1 element, and at most as many as rows of the table";
    bool bad = false;
    const int64_t rows = held.dim(0);
    for (int64_t i = 0; i < ids.size(); ++i)
      bad |= static_cast<uint32_t>(ids.data<int32_t>()[i]) >= rows;
    return bad ? "ids must be rows of the table" : nullptr;
  }

  const Input ids, held;
  const tfw2v::RowTable table;
};

const tfw2v::RowKernel& rows_of(void* type) {
  using tfw2v::Wire;
  const int is = *static_cast<int*>(type);
  return tfw2v::row_kernel(is == kFloat      ? Wire::kFloat
                           : is == kBfloat16 ? Wire::kBfloat16
                                             : Wire::kInt8);
}

// Number of columns that a transferred row has for its scale: the bytes of a float with int8, else 0.
int64_t scale_columns(void* type) { return *static_cast<int*>(type) == kInt8 ? sizeof(float) : 0; }

// Allocates the output of an op, [rows, size + scale_columns] in its type. Returns null on failure.
void* row_output(void* type, TF_OpKernelContext* context, int64_t rows, int64_t size) {
  const int64_t columns = size + scale_columns(type);
  if (*static_cast<int*>(type) == kFloat) return output<float>(context, 0, kFloat, rows, columns);
  if (*static_cast<int*>(type) == kInt8) return output<int8_t>(context, 0, kInt8, rows, columns);
  return output<uint16_t>(context, 0, kBfloat16, rows, columns);
}

// Tfw2vFetch(table, ids [n], size) -> rows [n, size]: table[ids].
void fetch(void* type, TF_OpKernelContext* context) {
  const Input size(context, 2);
  const Travel of(context, *size.data<int32_t>());
  if (const char* wrong = of.wrong()) return fail(context, "Tfw2vFetch", wrong);
  if (void* to = row_output(type, context, of.ids.size(), of.table.size))
    rows_of(type).gather(of.table, of.ids.data<int32_t>(), of.ids.size(), to);
}

// Tfw2vScatter(table, ids [n], rows [n, size]) -> n. Sets table[ids] to rows, in place.
void scatter(void* type, TF_OpKernelContext* context) {
  const Input rows(context, 2);
  const Travel of(context, rows.dim(1) - scale_columns(type));
  if (const char* wrong = of.wrong()) return fail(context, "Tfw2vScatter", wrong);
  if (rows.dim(0) != of.ids.size()) return fail(context, "Tfw2vScatter", "rows must have one row per id");
  rows_of(type).scatter(of.table, of.ids.data<int32_t>(), of.ids.size(), rows.data<void>());
  if (auto* to = output<int64_t>(context, 0, kInt64, 1, 0)) *to = of.ids.size();
}

// Tfw2vChange(table, ids [n], known [n, size], basis, shares, levels, key [2]) -> changes [n, size]:
// table[ids] - known, reduced to the fractions that struct Share defines. Empty levels: not reduced.
void change(void* type, TF_OpKernelContext* context) {
  const Input known(context, 2), basis(context, 3), shares(context, 4), levels(context, 5);
  const Input key(context, 6);
  const Travel of(context, known.dim(1) - scale_columns(type));
  if (const char* wrong = of.wrong()) return fail(context, "Tfw2vChange", wrong);
  constexpr int64_t kDirections = tfw2v::Share::kDirections;
  const bool shared = levels.size();
  bool bad = known.dim(0) != of.ids.size() || key.size() != 2;
  if (shared) {
    bad |= levels.size() != of.held.dim(0) || basis.size() != kDirections * of.table.size ||
           shares.dim(1) != 1 + kDirections;
    for (int64_t i = 0; i < levels.size(); ++i)
      bad |= static_cast<uint32_t>(levels.data<int32_t>()[i]) >= shares.dim(0);
  }
  if (bad)
    return fail(context, "Tfw2vChange", "known must have one row per id, and key must have 2 elements. Levels "
                         "must be empty, or have the index of a row of shares [, 17] for each row of the "
                         "table, with basis [16, size]");
  uint64_t draws;  // copied: the input is of another type
  std::memcpy(&draws, key.data<int32_t>(), sizeof draws);
  const tfw2v::Share share = {shares.data<float>(), shared ? levels.data<int32_t>() : nullptr,
                              basis.data<float>()};
  if (void* to = row_output(type, context, of.ids.size(), of.table.size))
    rows_of(type).change(of.table, of.ids.data<int32_t>(), of.ids.size(), known.data<void>(),
                         share, draws, to);
}

// Returns whether the scales of int8 rows are such as workers send: NaN if training has diverged, else
// finite and at least 0.
bool valid_scales(const Input& rows) {
  const int64_t columns = rows.dim(1);
  bool bad = false;
  for (int64_t i = 0; i < rows.dim(0); ++i) {
    float scale;
    std::memcpy(&scale, rows.data<int8_t>() + (i + 1) * columns - sizeof scale, sizeof scale);
    bad |= scale < 0 || scale > std::numeric_limits<float>::max();
  }
  return !bad;
}

// Tfw2vAdd(table, ids [n], changes [n, size]) -> n. Adds changes to table[ids], in place. Concurrent
// calls for a table wait for each other, so that no change is lost.
void add(void* type, TF_OpKernelContext* context) {
  const Input changes(context, 2);
  const Travel of(context, changes.dim(1) - scale_columns(type));
  if (const char* wrong = of.wrong()) return fail(context, "Tfw2vAdd", wrong);
  if (changes.dim(0) != of.ids.size()) return fail(context, "Tfw2vAdd", "changes must have one row per id");
  if (scale_columns(type) && !valid_scales(changes))
    return fail(context, "Tfw2vAdd", "scales must be finite and at least 0, or NaN");
  static std::mutex mutexes[64];  // chosen by the table's address: few tables share one
  const std::lock_guard<std::mutex> guard(
      mutexes[reinterpret_cast<uintptr_t>(of.table.rows) / 64 % 64]);
  rows_of(type).add(of.table, of.ids.data<int32_t>(), of.ids.size(), changes.data<void>());
  if (auto* to = output<int64_t>(context, 0, kInt64, 1, 0)) *to = of.ids.size();
}

// Tfw2vPack(entries [n]) -> the entries as bytes; see pack() in text.h.
void pack(void*, TF_OpKernelContext* context) {
  const Input entries(context, 0);
  std::vector<uint8_t> bytes;
  tfw2v::pack(entries.data<int32_t>(), entries.size(), bytes);
  if (auto* to = output<uint8_t>(context, 0, kUint8, bytes.size(), 0))
    std::copy(bytes.begin(), bytes.end(), to);
}

// Tfw2vUnpack(bytes [m]) -> the entries that they contain; see unpack() in text.h.
void unpack(void*, TF_OpKernelContext* context) {
  const Input bytes(context, 0);
  std::vector<int32_t> entries;
  if (!tfw2v::unpack(bytes.data<uint8_t>(), bytes.size(), entries))
    return fail(context, "Tfw2vUnpack", "the bytes are not packed entries");
  if (auto* to = output<int32_t>(context, 0, kInt32, entries.size(), 0))
    std::copy(entries.begin(), entries.end(), to);
}

// Tfw2vDistinct(ids [n], limit) -> the distinct ids, ascending, and [n] the index of each id in that list.
void distinct(void*, TF_OpKernelContext* context) {
  const Input ids(context, 0), limit(context, 1);
  const auto* id = ids.data<int32_t>();
  const int64_t number = ids.size(), below = *limit.data<int32_t>();
  std::vector<uint8_t> used(below);
  for (int64_t i = 0; i < number; ++i) {
    if (id[i] < 0 || id[i] >= below) return fail(context, "Tfw2vDistinct", "ids must be in 0 .. limit - 1");
    used[id[i]] = 1;
  }
  std::vector<int32_t> found;
  const std::unique_ptr<int32_t[]> index_of(new int32_t[below]);
  for (int64_t of = 0; of < below; ++of)
    if (used[of]) {
      index_of[of] = static_cast<int32_t>(found.size());
      found.push_back(static_cast<int32_t>(of));
    }
  auto* to = output<int32_t>(context, 0, kInt32, found.size(), 0);
  auto* indices = output<int32_t>(context, 1, kInt32, number, 0);
  if (!to || !indices) return;
  std::copy(found.begin(), found.end(), to);
  for (int64_t i = 0; i < number; ++i) indices[i] = index_of[id[i]];
}

// Tfw2vReuse(words [n], negatives [m], sizes [4]) -> [m] the negatives after reuse(); see draws.h.
// sizes: number of words V, shards, uses, least.
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

// Splits an input into strings, each followed by a 0 byte.
std::vector<std::string> strings(const Input& input) {
  std::vector<std::string> found;
  const char *at = input.data<char>(), *const end = at + input.size();
  for (const char* stop; at < end && (stop = static_cast<const char*>(std::memchr(at, 0, end - at)));
       at = stop + 1)
    found.emplace_back(at, stop);
  return found;
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Tfw2vLook(paths) -> sizes, machine, cores. Each path is followed by a 0 byte.
//   sizes    size of each file; for paths[0], a folder, 0 if it is writable. -errno on failure
//   machine  id of this machine or container: host name and boot id
//   cores    number of cores of the machine
void look(void*, TF_OpKernelContext* context) {
  const std::vector<std::string> paths = strings(Input(context, 0));
  auto* sizes = output<int64_t>(context, 0, kInt64, paths.size(), 0);
  for (size_t i = 0; sizes && i < paths.size(); ++i) {
    struct stat status;
    if (i ? !stat(paths[i].c_str(), &status) : !access(paths[i].c_str(), W_OK))
      sizes[i] = i ? status.st_size : 0;
    else
      sizes[i] = -errno;
  }
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  const std::string machine = host + (" " + content("/proc/sys/kernel/random/boot_id"));
  if (auto* to = output<uint8_t>(context, 1, kUint8, machine.size(), 0))
    std::memcpy(to, machine.data(), machine.size());
  if (auto* to = output<int64_t>(context, 2, kInt64, 1, 0))
    *to = std::thread::hardware_concurrency();
}

// A vocabulary that was read from the files path + "words" and path + "numbers". The one read last is kept,
// and shared by all ops that use it.
struct Vocabulary {
  tfw2v::Words words;
  std::string numbers;

  static std::shared_ptr<const Vocabulary> of(const std::string& path) {
    static std::mutex mutex;
    static std::string last;
    static std::shared_ptr<Vocabulary> known;
    const std::lock_guard<std::mutex> guard(mutex);
    if (path != last || !known) {
      auto read = std::make_shared<Vocabulary>();
      const std::string text = content(path + "words");
      read->words.add(reinterpret_cast<const uint8_t*>(text.data()), text.size(), nullptr, nullptr);
      read->numbers = content(path + "numbers");
      last = path;
      known = read;
    }
    return known;
  }
};

// Tfw2vReadRun(names, numbers) -> report. Encodes texts to shards; see read_run in text.h.
//   names    prefix of the files to write, prefix of a vocabulary's files or "", then p paths: each is
//            followed by a 0 byte
//   numbers  [3 + 2 p] maximum words per sentence, maximum entries per shard, whether lines are tagged,
//            then per path the offset of the first byte to read, and of the byte after the last
//   report   [3 + 4 s] result of read_run, raw words, sentences, then the fields of each of s shards
void read_run(void*, TF_OpKernelContext* context) {
  const std::vector<std::string> names = strings(Input(context, 0));
  const Input numbers(context, 1);
  const auto* number = numbers.data<int64_t>();
  if (names.size() < 2 || numbers.size() != 2 * static_cast<int64_t>(names.size()) - 1)
    return fail(context, "Tfw2vReadRun", "names must be 2 prefixes and p paths, and numbers must have "
                         "3 + 2 p elements");
  std::vector<tfw2v::Piece> pieces;
  for (size_t i = 2; i < names.size(); ++i)
    pieces.push_back({names[i], number[2 * i - 1], number[2 * i]});
  std::shared_ptr<const Vocabulary> known;
  if (!names[1].empty()) {
    known = Vocabulary::of(names[1]);
    if (known->numbers.size() != known->words.counts().size() * sizeof(int32_t))
      return fail(context, "Tfw2vReadRun", "the vocabulary's files are missing or incomplete");
  }
  tfw2v::Scanner scanner(names[0], number[0], number[1], known ? &known->words : nullptr,
                         known ? reinterpret_cast<const int32_t*>(known->numbers.data()) : nullptr);
  if (number[2]) scanner.tag_lines();
  const int64_t error = tfw2v::read_run(scanner, pieces, names[0]);
  const std::vector<tfw2v::Shard>& shards = scanner.shards();
  if (auto* to = output<int64_t>(context, 0, kInt64, 3 + 4 * shards.size(), 0)) {
    to[0] = error;
    to[1] = scanner.state().raw_words;
    to[2] = scanner.state().sentences;
    std::memcpy(to + 3, shards.data(), shards.size() * sizeof(tfw2v::Shard));
  }
}

void unknown_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  TF_ShapeInferenceContextSetUnknownShape(context, status);
}

using Compute = void (*)(void*, TF_OpKernelContext*);

// Computes an op. An exception becomes the op's error; out of TensorFlow's threads, it would end the process.
template <Compute compute>
void guarded(void* state, TF_OpKernelContext* context) noexcept {
  const char* error = tfw2v::guarded_message([&]() -> const char* {
    compute(state, context);
    return nullptr;
  });
  if (error) fail(context, "compiled op", error);
}

// An attribute of an op, and functions that make and destroy the op's state.
struct Attribute {
  const char* spec;
  void* (*make)(TF_OpKernelConstruction*);
  void (*destroy)(void*);
};
constexpr Attribute kNone = {nullptr, nullptr, nullptr};
constexpr Attribute kHasOptions = {"options: list(int)", make, destroy<Tfw2vOptions>};
constexpr Attribute kTyped = {"dtype: {float, bfloat16, int8}", make_typed, destroy<int>};

// Registers an op and its kernel. Ops are stateful, because most of them change memory or files.
template <Compute compute>
void define(const char* name, std::initializer_list<const char*> inputs,
            std::initializer_list<const char*> outputs, const Attribute& attribute = kNone) {
  Status status;
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder(name);
  for (const char* input : inputs) TF_OpDefinitionBuilderAddInput(op, input);
  for (const char* of : outputs) TF_OpDefinitionBuilderAddOutput(op, of);
  if (attribute.spec) TF_OpDefinitionBuilderAddAttr(op, attribute.spec);
  if (attribute.make == make)  // takes options: such ops return or accept a unit
    TF_OpDefinitionBuilderAddAttr(op, ("fields: int = " + std::to_string(kUnitFields)).c_str());
  TF_OpDefinitionBuilderSetIsStateful(op, true);
  TF_OpDefinitionBuilderSetShapeInferenceFunction(op, unknown_shape);
  TF_RegisterOpDefinition(op, status);
  auto* kernel = TF_NewKernelBuilder(name, "CPU", attribute.make, guarded<compute>, attribute.destroy);
  TF_RegisterKernelBuilder(name, kernel, status);
}

__attribute__((constructor)) void register_ops() {
  define<draw>("Tfw2vDraw", {"entries: int32", "key: int32", "keep: float", "noise: int32"},
               {"unit: fields * int32"}, kHasOptions);
  define<train>("Tfw2vTrain",
                {"inputs: float", "outputs: float", "nodes: float", "size: int32", "lock: float",
                 "weights: float", "alphas: float", "loss_every: int64", "path_starts: int32",
                 "paths: int32", "subword_starts: int32", "subwords: int32", "unit: fields * int32"},
                {"sums: double"}, kHasOptions);
  define<fetch>("Tfw2vFetch", {"table: float", "ids: int32", "size: int32"}, {"rows: dtype"}, kTyped);
  define<scatter>("Tfw2vScatter", {"table: float", "ids: int32", "rows: dtype"}, {"scattered: int64"},
                  kTyped);
  define<change>("Tfw2vChange",
                 {"table: float", "ids: int32", "known: dtype", "basis: float", "shares: float",
                  "levels: int32", "key: int32"},
                 {"changes: dtype"}, kTyped);
  define<add>("Tfw2vAdd", {"table: float", "ids: int32", "changes: dtype"}, {"added: int64"}, kTyped);
  define<reuse>("Tfw2vReuse", {"words: int32", "negatives: int32", "sizes: int32"}, {"reused: int32"});
  define<pack>("Tfw2vPack", {"entries: int32"}, {"bytes: uint8"});
  define<unpack>("Tfw2vUnpack", {"bytes: uint8"}, {"entries: int32"});
  define<look>("Tfw2vLook", {"paths: uint8"}, {"sizes: int64", "machine: uint8", "cores: int64"});
  define<read_run>("Tfw2vReadRun", {"names: uint8", "numbers: int64"}, {"report: int64"});
  define<distinct>("Tfw2vDistinct", {"ids: int32", "limit: int32"},
                   {"distinct: int32", "indices: int32"});
}

}  // namespace
