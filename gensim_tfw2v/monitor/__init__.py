"""Progress bars, and curves and vectors for TensorBoard."""
