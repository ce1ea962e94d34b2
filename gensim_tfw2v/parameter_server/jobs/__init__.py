"""Functions that workers run: they fetch, train and push."""
