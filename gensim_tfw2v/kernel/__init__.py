"""Compiled kernels, and what they share with the TensorFlow fallback: sizes, tables, words."""
