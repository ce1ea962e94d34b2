"""The compiled kernels as ops of TensorFlow; their C++ is in ``kernel/native/src``.

Ops such as ``tfw2v_draw`` and ``tfw2v_train`` compute the same as the functions of the same name in
`gensim_tfw2v.kernel.native.by_ctypes`, which need no TensorFlow. The remaining ops serve clusters:
they pack texts, renumber rows, and read and change the rows on the ps tasks.
"""
