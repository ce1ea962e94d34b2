"""Where the rows of a table live on a cluster."""

from gensim_tfw2v.parameter_server.layouts.column_layout import ColumnLayout, SlicedRows
from gensim_tfw2v.parameter_server.layouts.layout import Layout
from gensim_tfw2v.parameter_server.layouts.row_layout import RowLayout

#: By the names that users give.
LAYOUTS: dict[str, type[RowLayout] | type[ColumnLayout]] = {
    "rows": RowLayout,
    "columns": ColumnLayout,
}

__all__ = ["LAYOUTS", "ColumnLayout", "Layout", "RowLayout", "SlicedRows"]
