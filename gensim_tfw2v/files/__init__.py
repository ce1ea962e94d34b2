"""Files that are written atomically or mapped into memory, and temporary folders."""
