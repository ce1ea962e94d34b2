// Inputs, outputs, errors and registration of the TensorFlow ops.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string>

#include "guard.h"
#include "tensorflow/api.h"
#include "unit.h"

namespace tfw2v::ops {

// Values of TF_DataType and TF_Code in TensorFlow's C API.
enum Type { kFloat = 1, kDouble = 2, kInt32 = 3, kUint8 = 4, kInt8 = 6, kInt64 = 9, kBfloat16 = 14 };
constexpr int kInvalidArgument = 3, kResourceExhausted = 8;

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
  Input(TF_OpKernelContext* context, int index) {
    Status status;
    TF_GetInput(context, index, &tensor_, status);
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

// Makes an op fail with an error message. Allocates no memory, because memory may be short.
inline void fail(TF_OpKernelContext* context, const char* op, const char* message) {
  Status status;
  char text[512];
  std::snprintf(text, sizeof text, "%s: %s", op, message);
  const bool is_short = !std::strcmp(message, tfw2v::kNoMemory);
  TF_SetStatus(status, is_short ? kResourceExhausted : kInvalidArgument, text);
  TF_OpKernelContext_Failure(context, status);
}

// Allocates the output with this index, of shape [rows, columns], or [rows] if columns is 0. Returns null on
// failure.
template <class T>
T* output(TF_OpKernelContext* context, int index, Type type, int64_t rows, int64_t columns) {
  Status status;
  const int64_t dims[2] = {rows, columns};
  TF_Tensor* tensor = TF_AllocateOutput(context, index, type, dims, columns ? 2 : 1,
                                        rows * (columns ? columns : 1) * sizeof(T), status);
  if (!status.ok()) {
    TF_OpKernelContext_Failure(context, status);
    return nullptr;
  }
  T* data = static_cast<T*>(TF_TensorData(tensor));
  TF_DeleteTensor(tensor);  // the context holds its own reference
  return data;
}

// Returns a new state of an op. If memory is short, reports that to TensorFlow, and returns null.
template <class State>
State* make_state(TF_OpKernelConstruction* construction) {
  auto* state = new (std::nothrow) State();
  if (!state) {
    Status status;
    TF_SetStatus(status, kResourceExhausted, tfw2v::kNoMemory);
    TF_OpKernelConstruction_Failure(construction, status);
  }
  return state;
}

// Makes the state of ops with an attribute `dtype`: its type.
inline void* make_type(TF_OpKernelConstruction* construction) {
  Status status;
  auto* type = make_state<int>(construction);
  if (!type) return nullptr;
  TF_OpKernelConstruction_GetAttrType(construction, "dtype", type, status);
  if (!status.ok()) TF_OpKernelConstruction_Failure(construction, status);
  return type;
}

template <class State>
void destroy(void* state) {
  delete static_cast<State*>(state);
}

inline void unknown_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  TF_ShapeInferenceContextSetUnknownShape(context, status);
}

using Compute = void (*)(void*, TF_OpKernelContext*);

// Computes an op. An exception becomes the op's error. If it left the op, it would end the process.
template <Compute compute>
void compute_guarded(void* state, TF_OpKernelContext* context) noexcept {
  const char* error = tfw2v::guarded_message([&]() -> const char* {
    compute(state, context);
    return nullptr;
  });
  if (error) fail(context, "compiled op", error);
}

// An attribute of an op, and functions that make and destroy the op's state. `has_unit`: the op returns or accepts a
// unit, so it has a second attribute, the number of a unit's arrays.
struct Attribute {
  const char* spec;
  void* (*make)(TF_OpKernelConstruction*);
  void (*destroy)(void*);
  bool has_unit;
};
constexpr Attribute kNone = {nullptr, nullptr, nullptr, false};

// Registers an op and its kernel. Ops are stateful, because most of them change memory or files.
template <Compute compute>
void define(const char* name, std::initializer_list<const char*> inputs, std::initializer_list<const char*> outputs,
            const Attribute& attribute = kNone) {
  Status status;
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder(name);
  for (const char* input : inputs) TF_OpDefinitionBuilderAddInput(op, input);
  for (const char* output : outputs) TF_OpDefinitionBuilderAddOutput(op, output);
  if (attribute.spec) TF_OpDefinitionBuilderAddAttr(op, attribute.spec);
  if (attribute.has_unit) TF_OpDefinitionBuilderAddAttr(op, ("fields: int = " + std::to_string(kUnitFields)).c_str());
  TF_OpDefinitionBuilderSetIsStateful(op, true);
  TF_OpDefinitionBuilderSetShapeInferenceFunction(op, unknown_shape);
  TF_RegisterOpDefinition(op, status);
  auto* kernel = TF_NewKernelBuilder(name, "CPU", attribute.make, compute_guarded<compute>, attribute.destroy);
  TF_RegisterKernelBuilder(name, kernel, status);
}

}  // namespace tfw2v::ops
