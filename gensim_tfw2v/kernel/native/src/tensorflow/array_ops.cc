// Op that maps arrays from files.
#include <memory>
#include <string>

#include "tensorflow/mapped_file.h"
#include "tensorflow/op.h"

namespace tfw2v::ops {
namespace {

using FilePointer = std::shared_ptr<const MappedFile>;

// Tfw2vMapArray(path) -> values [n]: the content of a file, which is mapped, not copied. The processes of a machine
// share its memory.
void map_array(void* type, TF_OpKernelContext* context) {
  const Input path(context, 0);
  const std::string name(path.data<char>(), path.size());
  FilePointer file = map_file(name);
  if (!file->size()) return fail(context, "Tfw2vMapArray", ("can't read " + name).c_str());
  const int64_t n_values = file->size() / 4;  // both types have 4 bytes
  void* const data = const_cast<uint8_t*>(file->data());
  auto release = [](void*, size_t, void* argument) { delete static_cast<FilePointer*>(argument); };
  auto owner = std::make_unique<FilePointer>(std::move(file));
  TF_Tensor* const tensor =
      TF_NewTensor(*static_cast<int*>(type), &n_values, 1, data, 4 * n_values, release, owner.release());
  Status status;
  TF_SetOutput(context, 0, tensor, status);
  TF_DeleteTensor(tensor);  // the context holds its own reference
  if (!status.ok()) TF_OpKernelContext_Failure(context, status);
}

__attribute__((constructor)) void register_ops() {
  define<map_array>("Tfw2vMapArray", {"path: uint8"}, {"values: dtype"},
                    {"dtype: {float, int32}", make_type, destroy<int>, false});
}

}  // namespace
}  // namespace tfw2v::ops
