"""Tables as a corpus: a column of Parquet, Arrow, ORC, CSV or JSON files, read in batches."""
