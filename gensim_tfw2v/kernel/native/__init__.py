"""The compiled kernels; their sources are in ``src``.

They are compiled when the package is installed, if a C++ compiler is found. Programs without
TensorFlow call them through `gensim_tfw2v.kernel.native.by_ctypes`. TensorFlow calls them as ops:
see `gensim_tfw2v.ops`. Both libraries are linked from the same objects.
"""
