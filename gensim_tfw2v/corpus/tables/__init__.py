"""Tables as a corpus: a column of Parquet, Arrow, ORC, CSV or JSON files, read in batches.

No module here imports pyarrow before a table is opened.
"""
