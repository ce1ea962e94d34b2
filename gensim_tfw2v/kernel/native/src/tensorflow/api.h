// The part of TensorFlow's C API that the ops use. The API is stable between versions, so it is declared here, and
// the build needs no headers of TensorFlow.
#pragma once

#include <cstddef>
#include <cstdint>

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
void TF_OpDefinitionBuilderSetShapeInferenceFunction(TF_OpDefinitionBuilder*,
                                                     void (*)(TF_ShapeInferenceContext*, TF_Status*));
void TF_ShapeInferenceContextSetUnknownShape(TF_ShapeInferenceContext*, TF_Status*);
void TF_RegisterOpDefinition(TF_OpDefinitionBuilder*, TF_Status*);
TF_KernelBuilder* TF_NewKernelBuilder(const char*, const char*, void* (*)(TF_OpKernelConstruction*),
                                      void (*)(void*, TF_OpKernelContext*), void (*)(void*));
void TF_RegisterKernelBuilder(const char*, TF_KernelBuilder*, TF_Status*);
void TF_OpKernelConstruction_GetAttrSize(TF_OpKernelConstruction*, const char*, int32_t*, int32_t*, TF_Status*);
void TF_OpKernelConstruction_GetAttrInt32List(TF_OpKernelConstruction*, const char*, int32_t*, int, TF_Status*);
void TF_OpKernelConstruction_GetAttrType(TF_OpKernelConstruction*, const char*, int*, TF_Status*);
void TF_OpKernelConstruction_Failure(TF_OpKernelConstruction*, TF_Status*);
void TF_OpKernelContext_Failure(TF_OpKernelContext*, TF_Status*);
int TF_NumInputs(TF_OpKernelContext*);
void TF_GetInput(TF_OpKernelContext*, int, TF_Tensor**, TF_Status*);
TF_Tensor* TF_AllocateOutput(TF_OpKernelContext*, int, int, const int64_t*, int, size_t, TF_Status*);
TF_Tensor* TF_NewTensor(int type, const int64_t* dims, int n_dims, void* data, size_t size,
                        void (*free)(void* data, size_t size, void* argument), void* argument);
void TF_SetOutput(TF_OpKernelContext*, int, const TF_Tensor*, TF_Status*);
void* TF_TensorData(const TF_Tensor*);
int64_t TF_Dim(const TF_Tensor*, int);
int TF_NumDims(const TF_Tensor*);
int64_t TF_TensorElementCount(const TF_Tensor*);
void TF_DeleteTensor(TF_Tensor*);
}
