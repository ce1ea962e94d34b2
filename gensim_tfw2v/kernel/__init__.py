"""Sizes, constants, tables and word arrays of both engines; and the compiled kernels."""
