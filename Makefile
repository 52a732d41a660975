# Every target first makes .venv with what it needs; when it is there already that costs nothing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export SEPARATRIX_DATA
# Many tests start processes: without bytecode each of them would parse the whole package again.
unexport PYTHONDONTWRITEBYTECODE
CHECKED := $(CURDIR)/$(VENV)/numba-boundscheck
QUICK := tests/kernels tests/estimators tests/contracts README.md
BROWSER := tests/workbench/test_browser_*.py
COMPILED := tests/solvers tests/kernels tests/data/formats tests/modelfile/test_hostile.py
BOUNDSCHECK = OPENBLAS_NUM_THREADS=1 NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CHECKED) $(BIN)/python -m pytest -n auto --dist loadfile -q -k 'not triton'

.PHONY: install demo demo-cluster workbench test test-full test-sklearn test-long test-gpu campaign golden lint lock audit sbom wheel mutation bench docs clean

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("separatrix needs Python 3.11 or newer; found " + sys.version.split()[0] + ". Try: make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

# For tests without the bytecode of every module: they write that of what they import.
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check $(if $(filter test%,$*),--no-compile)

# One stamp for each extra: installed again only when pyproject.toml is newer.
$(VENV)/.has-%: pyproject.toml | $(VENV)/bin/python
ifdef LOCKED
	$(INSTALL) --require-hashes -r requirements/ci.txt
endif
	$(INSTALL) --editable '.[$*]'
	@touch $@

# Compiled once after installation, on all cores, into numba's own cache: there it serves everything that
# uses this environment, and no first fit waits for it.
$(VENV)/.compiled-models: | $(VENV)/.has-report
	$(BIN)/separatrix compile
	@touch $@

install: $(VENV)/.has-report $(VENV)/.compiled-models

demo: install
	$(BIN)/separatrix demo --out demo-output

demo-cluster: install $(VENV)/.has-dask
	$(BIN)/python examples/cluster.py

workbench: install $(VENV)/.has-workbench
	$(BIN)/separatrix workbench

# The tests to run after every change, without torch: what users call. Each function is compiled by the first test
# that needs it.
test: $(VENV)/.has-test
	$(BIN)/python -m pytest -n auto --dist loadfile -q -m 'not slow and not long' $(QUICK)

# Compiled once, before there are several workers, each of which would compile the same functions.
$(VENV)/.compiled: | $(VENV)/.has-test
	$(BIN)/python -m tests.contracts.compile_all
	@touch $@

# Everything but the exhaustive runs: linters and types, all tests and examples, Triton's interpreter, the
# browser, and the compiled code with bounds checks.
test-full: $(VENV)/.has-test-full $(VENV)/.compiled lint
	$(BIN)/python -m pytest -n auto -q -m 'not long' --ignore-glob '$(BROWSER)'
	$(BIN)/python -m pytest -n auto --dist loadfile -q -m 'not long' $(BROWSER)
	$(BOUNDSCHECK) -m 'not slow and not long' $(COMPILED)

# Tests of scikit-learn, imbalanced-learn and mlxtend with `separatrix.accel` on, all sizes served; `test-full` has
# the quicker modules.
test-sklearn: $(VENV)/.has-test $(VENV)/.has-ecosystem $(VENV)/.compiled
	$(BIN)/python -m pytest -n auto -q tests/contracts/test_accel.py

test-long: $(VENV)/.has-test-full
	$(BIN)/python -m pytest -m long
	$(BOUNDSCHECK) -m 'slow and not long' $(COMPILED)

# For a machine with a GPU that has torch, Triton, NumPy, SciPy, scikit-learn and numba, and may have
# nothing else: no environment is made and nothing is installed.
test-gpu:
	PYTHONPATH=src env -u NUMBA_CACHE_DIR $(PYTHON) -m tests.gpu

# Numbered random trials, `make campaign NAME=readers MINUTES=60`; the results are in docs/reliability.md.
campaign: $(VENV)/.has-test-full
	nice -n 10 $(BIN)/python -m tests.campaigns $(NAME) $(if $(MINUTES),--minutes $(MINUTES))

# Model files and predictions of test cases that have none yet; existing ones are never rewritten.
golden: $(VENV)/.has-test
	$(BIN)/python -m tests.modelfile.golden

lint: $(VENV)/.has-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Versions and hashes of everything that is installed; LOCKED=1 with any target installs from these files.
# The files name no index.
LOCK := uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --no-annotate --upgrade
lock: $(VENV)/.has-release
	$(BIN)/$(LOCK) --extra data --extra excel --extra report --extra workbench --extra serve -o requirements/runtime.txt
	$(BIN)/$(LOCK) --extra test --extra lint -o requirements/ci.txt

# Known vulnerabilities of the locked versions; asks a database on the internet.
audit: $(VENV)/.has-release
	$(BIN)/pip-audit --disable-pip -r requirements/runtime.txt -r requirements/ci.txt

# Software bill of materials in CycloneDX's JSON.
sbom: $(VENV)/.has-release
	@mkdir -p dist
	$(BIN)/cyclonedx-py requirements requirements/runtime.txt --pyproject pyproject.toml --output-reproducible --of JSON -o dist/separatrix.cdx.json

# Built twice, compared byte by byte, and listed in dist/SHA256SUMS.
wheel: $(VENV)/.has-release
	$(BIN)/python -m tests.contracts.wheel dist

# Seeded mutants of solvers, kernels, readers and model files: `make mutation MUTANTS=50 SEED=0`.
mutation: $(VENV)/.has-test
	nice -n 10 $(BIN)/python -m tests.mutation --mutants $(or $(MUTANTS),50) --seed $(or $(SEED),0)

bench: $(VENV)/.has-bench
	$(BIN)/python -m benchmarks

# Without a network. Gallery scripts are run again only when they have changed.
docs: $(VENV)/.has-docs $(VENV)/.compiled-models
	$(BIN)/python -m sphinx -W --keep-going -j auto -b html docs docs/_build/html
	$(BIN)/codespell README.md CONTRIBUTING.md docs examples changelog.d src
	$(BIN)/python docs/check_links.py docs/_build/html

clean:
	find src -name '*.nb[ic]' -delete
	rm -rf $(VENV) docs/_build docs/api docs/benchmarks docs/gallery docs/lectures demo-output .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
