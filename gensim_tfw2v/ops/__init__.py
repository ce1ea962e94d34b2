"""The compiled kernels as ops of TensorFlow; their C++ is in ``kernel/native/src``.

An op has the name of the function in `gensim_tfw2v.kernel.native.by_ctypes` that does the same
without TensorFlow, such as ``tfw2v_draw`` and ``tfw2v_train``. Ops without such a function serve
clusters: they pack texts, renumber rows, and read and change the rows on the ps tasks.
"""
