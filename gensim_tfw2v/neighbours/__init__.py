"""An index of the nearest neighbours of vectors."""
