# Needs Python, pip and make; everything else goes into .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --quiet --disable-pip-version-check
# Two test processes: importing TensorFlow and waiting for child processes overlap.
JOBS   ?= 2

RUN := $(VENV)/.installed
DEV := $(VENV)/.installed-dev

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test check lint types format bench clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(RUN)  ## install into .venv if needed, train on a small local cluster, print neighbours
	@$(BIN)/tfw2v demo

test: $(DEV)  ## run the tests (PYTEST_ARGS="-m slow" runs the studies)
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(PYTEST_ARGS)

check: lint types test  ## everything CI does: format, lint, types, tests

lint: $(DEV)  ## formatting and lint, changing nothing
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

types: $(DEV)  ## mypy
	@$(BIN)/mypy

format: $(DEV)  ## format the sources and mend what lint can mend
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(RUN)  ## compare with gensim: make bench CORPUS=path [BENCH_ARGS="--settings sg100,cbow100"]
	@test -n "$(CORPUS)" || { echo 'usage: make bench CORPUS=path [BENCH_ARGS="--seeds 3 ..."]'; exit 2; }
	@$(BIN)/python -m benchmarks.compare "$(CORPUS)" --out docs/benchmarks $(BENCH_ARGS)

clean:  ## remove .venv, caches and build results
	@rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@echo "creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(RUN): pyproject.toml setup.py | $(BIN)/python
	@echo "installing into $(VENV)"
	@$(PIP) install -e .
	@touch $@

$(DEV): pyproject.toml setup.py | $(BIN)/python
	@echo "installing with the tools for development into $(VENV)"
	@$(PIP) install -e '.[dev]'
	@touch $@ $(RUN)
