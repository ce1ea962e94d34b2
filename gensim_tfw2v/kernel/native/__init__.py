"""The compiled kernels; their sources are in ``src``.

The kernels are compiled when the package is installed, if a C++ compiler is found. Programs without
TensorFlow call ``kernels.so`` through `gensim_tfw2v.kernel.native.by_ctypes`. TensorFlow calls the
ops in ``ops.so``: see `gensim_tfw2v.ops`. Both libraries are linked from the same objects.
"""
