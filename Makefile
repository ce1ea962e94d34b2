# Needs Python, pip and make; everything else is installed into .venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# This variable would make each process recompile TensorFlow's modules, as much work as running them.
unexport PYTHONDONTWRITEBYTECODE
PIP    := $(BIN)/python -m pip --quiet --disable-pip-version-check
# Twice as many test processes as CI has cores, because many tests wait for child processes.
JOBS   ?= 4

# Environment with the lowest versions that pyproject.toml allows, and tests that quickly detect a
# version that is too low.
LOWEST := .venv-lowest
LOWEST_TESTS := tests/cli/test_main.py tests/cli/test_plan.py tests/cli/test_projector.py \
	tests/cli/test_neighbours.py tests/cli/test_train.py tests/test_requirements.py
# Environment without TensorFlow and TensorBoard; tests/light_cut.py selects the tests.
LIGHT := .venv-light
# Environment with the newest TensorFlow and gensim, including pre-releases, and tests of the APIs and
# the gRPC behaviour that this package depends on.
NEXT := .venv-next
# Environment with the tools that benchmarks compare with, which pin older versions than they need.
RESULTS := .venv-results
NEXT_TESTS := tests/kernel/native/test_library.py tests/kernel/native/test_interfaces.py \
	tests/kernel/native/test_in_place.py tests/test_fasttext.py tests/cluster/test_training.py \
	tests/cluster/test_environment.py tests/training/test_elsewhere.py

# uv unpacks packages once for several environments, and doesn't compile modules to bytecode.
UV = UV_HTTP_TIMEOUT=180 $(BIN)/uv --quiet --no-config pip install --python $(@D)/bin/python
# Reinstalls even if only a source of the kernels has changed.
EDITABLE = $(UV) --reinstall-package gensim-tfw2v -e

# Folder of the sources in C++.
CPP := gensim_tfw2v/kernel/native/src

CPP_SOURCES = $(wildcard $(CPP)/*.h $(CPP)/*.cc $(CPP)/*/*.h $(CPP)/*/*.cc) $(wildcard tests/kernel/native/*.cc)
# The version in .venv, because others lay out differently.
CLANG_FORMAT = test ! -x $(BIN)/clang-format && echo 'sources in C++: $(BIN) has no clang-format' || $(BIN)/clang-format

# Files on which an installation depends, besides Python modules.
SOURCES := pyproject.toml setup.py $(wildcard $(CPP)/*.* $(CPP)/*/*)

RUN := $(VENV)/.installed
DEV := $(VENV)/.installed-dev

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test quick lowest light test-next check lint types compiled format docs docs-serve bench results browser screenshots sdist wheels clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(RUN)  ## install into .venv if needed, train on a small local cluster, print neighbours
	@rm -rf runs/demo
	@$(BIN)/tfw2v demo --log-dir runs/demo

test: $(DEV)  ## run the tests (PYTEST_ARGS="-m slow" runs the studies)
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

quick: $(DEV)  ## run the tests nearest to what has changed (PYTEST_ARGS="--since main --further 1")
	@$(BIN)/python -m pytest -p tests.quick -q -n $(JOBS) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

lowest: $(LOWEST)/.installed  ## run some quick tests with the lowest versions that pyproject.toml allows
	@$(LOWEST)/bin/python -m pytest -q $(LOWEST_TESTS)

light: $(LIGHT)/.installed  ## run the tests that need neither TensorFlow nor TensorBoard, without them
	@$(LIGHT)/bin/python -m pytest -p tests.light_cut -q -n $(JOBS) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

test-next: $(NEXT)/.installed | $(DEV)  ## run some quick tests with the newest TensorFlow and gensim
	@$(NEXT)/bin/python -m pytest -q $(NEXT_TESTS)
	@$(NEXT)/bin/python -m gensim_tfw2v demo

browser:  ## install Chromium with apt-get for tests that open pages; without it, they are skipped
	@{ command -v chromium && command -v chromedriver; } >/dev/null || timeout 600 sh -c ' \
		apt-get update && DEBIAN_FRONTEND=noninteractive \
		apt-get install -y --no-install-recommends chromium chromium-driver' >/dev/null 2>&1 \
		|| echo 'make browser: no Chromium could be installed'

check: lint types test  ## everything CI does: format, lint, types, tests

lint: $(DEV)  ## check formatting and lint without changes
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(CLANG_FORMAT) --dry-run --Werror $(CPP_SOURCES)

types: $(DEV)  ## mypy
	@$(BIN)/mypy

# otherwise every test process that starts would compile the same modules
compiled: $(DEV)  ## compile what tests import to bytecode
	-@$(BIN)/python -m pytest --collect-only -q >/dev/null  # the tests show what fails
	@$(BIN)/python -c 'from gensim_tfw2v._tensorflow import tf; tf.float32'

format: $(DEV)  ## format the sources and apply the fixes of lint
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .
	@$(CLANG_FORMAT) -i $(CPP_SOURCES)

docs: $(DEV)  ## build the documentation into site/, and fail on any warning
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-serve: $(DEV)  ## serve the documentation at http://127.0.0.1:8000, rebuilt when a page changes
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

screenshots: $(DEV)  ## retake the screenshots of TensorBoard in docs/screenshots/, with Chromium
	@$(BIN)/python -m docs.screenshots

bench: $(RUN)  ## compare with gensim: make bench CORPUS=path [BENCH_ARGS="--settings sg100,cbow100"]
	@test -n "$(CORPUS)" || { echo 'usage: make bench CORPUS=path [BENCH_ARGS="--seeds 3 ..."]'; exit 2; }
	@$(BIN)/python -m benchmarks.compare "$(CORPUS)" --out docs/benchmarks $(BENCH_ARGS)

results: $(RESULTS)/.installed  ## run all studies of docs/benchmarks.md: CORPUS=path CORPUS_LARGE=path [EVAL="pairs.tsv ..."] [GRAPHS="edges.tsv labels.tsv p q ..."]
	@test -n "$(CORPUS)" -a -n "$(CORPUS_LARGE)" || { echo 'usage: make results CORPUS=path CORPUS_LARGE=path [EVAL="pairs.tsv ..."] [GRAPHS="edges.tsv labels.tsv p q ..."]'; exit 2; }
	@$(RESULTS)/bin/python -m benchmarks.results "$(CORPUS)" "$(CORPUS_LARGE)" $(if $(EVAL),--eval $(EVAL)) $(if $(GRAPHS),--graphs $(GRAPHS)) $(RESULTS_ARGS)

sdist: $(BIN)/python  ## build the source distribution into dist/
	@$(PIP) install build
	@rm -f dist/*.tar.gz
	@$(BIN)/python -m build --sdist >/dev/null

# zig cross-compiles, here for systems with glibc 2.17 (2012) or later
wheels: $(BIN)/python  ## build wheels for Linux on x86-64 and aarch64 into dist/, with zig
	@$(PIP) install auditwheel
	@for machine in x86_64 aarch64; do \
		rm -rf build dist/*_$$machine.whl && TFW2V_TARGET=$$machine-linux-gnu.2.17 $(PIP) wheel --no-deps --wheel-dir dist . \
		&& $(BIN)/auditwheel show dist/*manylinux_2_17_$$machine.whl | tee dist/.audit \
		&& grep -q "tag: \"manylinux_2_17_$$machine\"" dist/.audit || exit 1; \
	done; rm -rf build dist/.audit

clean:  ## remove .venv, caches and build results
	@rm -rf $(VENV) $(LOWEST) $(LIGHT) $(NEXT) $(RESULTS) build dist site *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@rm -f gensim_tfw2v/kernel/native/*.so
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@echo "creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)

# Prints the long steps of pip, a line each; "!" is the line of a failed pip, whose errors are shown.
STEPS = awk '$$0 == "!" { exit 1 } \
	/^ +Downloading .* MB\)/ && substr($$3, 2) + 0 >= 20 { print "  downloading " $$2 " " $$3 " " $$4 } \
	/^Installing collected packages/ { print "  unpacking all packages, which takes a minute or two" } \
	/Building .*gensim-tfw2v.*started/ { print "  compiling the kernels" } { fflush() }'

$(RUN): $(SOURCES) | $(BIN)/python
	@echo "installing into $(VENV): 2.4 GB, which takes some minutes"
	@{ $(BIN)/python -m pip --disable-pip-version-check install -e . || echo '!'; } | $(STEPS)
	@touch $@

$(DEV): $(SOURCES) | $(BIN)/uv
	@echo "installing with the tools for development into $(VENV)"
	@$(EDITABLE) '.[dev]' || $(PIP) install -e '.[dev]'  # pip honours its settings for mirrors
	@touch $@ $(RUN)

$(BIN)/uv: | $(BIN)/python
	@$(PIP) install uv

# recreated when a bound changes, because uv keeps installed versions
$(LOWEST)/pyvenv.cfg: pyproject.toml setup.py
$(LOWEST)/pyvenv.cfg $(LIGHT)/pyvenv.cfg $(NEXT)/pyvenv.cfg $(RESULTS)/pyvenv.cfg: | $(BIN)/uv
	@echo "creating $(@D)"
	@$(BIN)/uv --quiet --no-config venv --clear --python $(BIN)/python $(@D)

# after DEV, to use its kernels and the packages that uv has unpacked
$(LOWEST)/.installed: $(LOWEST)/pyvenv.cfg | $(DEV)
	@echo "installing the lowest versions into $(LOWEST)"
	@$(UV) --resolution lowest-direct --only-binary :all: -r pyproject.toml
	@$(UV) pytest hypothesis PyYAML testfixtures tomli
	@touch $@

$(LIGHT)/.installed: $(SOURCES) requirements-light.txt | $(LIGHT)/pyvenv.cfg
	@echo "installing without TensorFlow into $(LIGHT)"
	@$(UV) -r requirements-light.txt pytest pytest-xdist hypothesis PyYAML testfixtures tomli setuptools
	@$(EDITABLE) . --no-deps
	@touch $@

$(RESULTS)/.installed: $(SOURCES) benchmarks/clients/requirements.txt | $(RESULTS)/pyvenv.cfg
	@echo "installing the tools to compare with into $(RESULTS)"
	@$(EDITABLE) '.[benchmark,peers]'
	@$(UV) -r benchmarks/clients/requirements.txt pecanpy pycleora setuptools
	@$(UV) --no-deps --no-build-isolation node2vec wefe scattertext karateclub
	@touch $@

# every time, because there may be a newer version
.PHONY: $(NEXT)/.installed
$(NEXT)/.installed: | $(NEXT)/pyvenv.cfg $(DEV)
	@echo "installing the newest TensorFlow and gensim into $(NEXT)"
	@$(UV) --upgrade --prerelease allow --no-deps tensorflow gensim
	@$(UV) --only-binary :all: -r pyproject.toml pytest hypothesis PyYAML testfixtures tomli 'setuptools>=77'
