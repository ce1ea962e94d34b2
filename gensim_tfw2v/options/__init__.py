"""Options of models: which there are, which values they take, and what training makes of them."""
