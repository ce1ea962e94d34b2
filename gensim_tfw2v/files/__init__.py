"""Files and sets of files that are replaced atomically, mapped files, and temporary folders."""
