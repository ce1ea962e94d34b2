"""TensorFlow's engine: a unit trained step by step as a graph."""
