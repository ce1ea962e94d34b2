"""What both engines share: sizes, constants, tables, word arrays; and the compiled kernels."""
