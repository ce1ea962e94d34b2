"""Options of models: names, valid values, and the configuration that training reads."""
