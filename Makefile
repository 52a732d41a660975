# Every target first makes .venv with what it needs; when it is there already that costs nothing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export SEPARATRIX_DATA
export NUMBA_CACHE_DIR ?= $(CURDIR)/$(VENV)/numba
COMPILED := $(CURDIR)/$(VENV)/numba-tests
CHECKED := $(CURDIR)/$(VENV)/numba-boundscheck
BROWSED := tests/workbench/test_browser_*.py
COMPILES := tests/contracts/test_numba.py::test_what_was_compiled_once_is_read_from_the_cache_in_the_next_process

.PHONY: demo workbench test compiled compiled-boundscheck test-long test-gpu golden lint bench docs clean

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("separatrix needs Python 3.11 or newer; found " + sys.version.split()[0] + ". Try: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

# One stamp for each extra: installed again only when pyproject.toml is newer.
$(VENV)/.has-%: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

demo: $(VENV)/.has-report
	$(BIN)/separatrix demo --out demo-output

workbench: $(VENV)/.has-workbench
	$(BIN)/separatrix workbench

test: $(VENV)/.has-test $(VENV)/.has-lint
	$(MAKE) --no-print-directory -j lint compiled compiled-boundscheck
	NUMBA_CACHE_DIR=$(COMPILED) $(BIN)/python -m pytest -n auto -m 'not long' --deselect $(COMPILES) --ignore-glob '$(BROWSED)'
	NUMBA_CACHE_DIR=$(COMPILED) $(BIN)/python -m pytest -n auto --dist loadfile -q -m 'not long' $(BROWSED)
	OPENBLAS_NUM_THREADS=1 NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CHECKED) $(BIN)/python -m pytest -n auto -q -m 'not long' -k 'not programs' tests/solvers tests/kernels tests/data/formats/test_svmlight.py tests/data/formats/test_table.py tests/modelfile/test_hostile.py

# What is compiled is compiled once, before there are several workers: each would compile the same
# functions, and numba's caches are not made for two writers at a time. The test of the cache begins
# with an empty one; what it leaves is what all other tests read.
compiled: $(VENV)/.has-test
	@rm -rf $(COMPILED)
	SEPARATRIX_TEST_COMPILED=$(COMPILED) $(BIN)/python -m pytest -q $(COMPILES)

compiled-boundscheck: $(VENV)/.has-test
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CHECKED) $(BIN)/python -c 'from tests.contracts.test_numba import USE_ALL; exec(USE_ALL)' > /dev/null

test-long: $(VENV)/.has-test
	$(BIN)/python -m pytest -m long

# For a machine with a card that has torch, Triton, NumPy, SciPy, scikit-learn and numba, and may have
# nothing else: no environment is made and nothing is installed.
test-gpu:
	PYTHONPATH=src env -u NUMBA_CACHE_DIR $(PYTHON) -m tests.gpu

# Model files and predictions of test cases that have none yet; existing ones are never rewritten.
golden: $(VENV)/.has-test
	$(BIN)/python -m tests.modelfile.golden

lint: $(VENV)/.has-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.has-bench
	$(BIN)/python -m benchmarks

docs: $(VENV)/.has-docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

clean:
	rm -rf $(VENV) docs/_build demo-output .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
