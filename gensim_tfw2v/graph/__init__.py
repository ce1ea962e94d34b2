"""The TensorFlow fallback: trains a work unit step by step with TensorFlow's own operations."""
