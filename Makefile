# `make study` and `make test` do all of their own set-up in .venv.
# On Windows, run make in a shell of Git for Windows; environments have other folders there.
ifeq ($(OS),Windows_NT)
PYTHON ?= python
SCRIPTS := Scripts
# Tests read and write text without naming its encoding, which the package always does (PLW1514).
export PYTHONUTF8 = 1
else
PYTHON ?= python3
SCRIPTS := bin
endif

VENV := .venv
BIN := $(VENV)/$(SCRIPTS)
READY := $(VENV)/.ready

OLDEST := .venv-oldest
NIGHTLY := .venv-nightly

# Groups of dependencies need a newer pip than environments of Python 3.11 to 3.13 have.
UPGRADE_PIP = -m pip install --quiet --constraint constraints.txt pip
INSTALL = -m pip install --quiet --constraint constraints.txt

# Tests start many processes; stored bytecode makes each start faster.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: study test pytest test-oldest test-oldest-core test-nightly soak lint format docs bench \
	dist smoke check-release constraints clean

# make study ARGS='--data FOLDER' adds the sets in a folder, and so on: see pairmend study --help.
study: $(READY)
	$(BIN)/python -m pairmend study $(ARGS)

# One thread of BLAS for each of the test workers, which are as many as the processors.
# make pytest TESTS=tests/kernels runs some of them.
test pytest: export OMP_NUM_THREADS = 1
test: lint pytest
pytest: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal $(TESTS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff check --preview --select PLW1514 .ci docs src
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell
	$(BIN)/repo-review --show err .

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Builds the site in docs/_build/html, with all examples and the reports of small studies, and checks
# its links and its pages in Chromium. Warnings are errors. Nothing is loaded from the network.
docs: export OMP_NUM_THREADS = 1
docs: $(READY)
	$(BIN)/python $(INSTALL) --group docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	$(BIN)/python -m pytest tests/docs/test_pages.py tests/docs/check_site.py

# make bench ARGS='--quick --bench time_fit', and so on. To compare two commits:
# cd benchmarks && ../.venv/bin/asv continuous main HEAD
bench: export OMP_NUM_THREADS = 1
bench: $(READY)
	$(BIN)/python $(INSTALL) --group bench
	cd benchmarks && $(abspath $(BIN))/asv machine --yes
	cd benchmarks && $(abspath $(BIN))/asv run --python same --show-stderr $(ARGS)

# Random tests for an hour, on two processors; the next run goes on where this one stopped.
# make soak ARGS='--only readers --minutes 10', and so on: see make soak ARGS=--help.
soak: export OMP_NUM_THREADS = 1
soak: $(READY)
	$(BIN)/python $(INSTALL) --group soak
	$(BIN)/python -m soak $(ARGS)

# Builds the source distribution, and the wheel from it, and checks both.
dist: $(READY)
	$(BIN)/python $(INSTALL) --group release
	rm -rf dist
	$(BIN)/python -m build --no-isolation .
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl

# Installs the wheel with each extra alone and runs a part that needs it.
# make smoke ARGS='models parquet' does so for some extras; "core" is the wheel without any.
smoke: dist
	$(PYTHON) tests/smoke $(ARGS)

# Compares a tag with the version in the checkout and with the changelog.
check-release:
	$(PYTHON) .ci/check_release.py $(TAG)

# All tests but those of browsers and clusters, with the oldest versions that pyproject.toml allows.
test-oldest: TESTS = --ignore tests/report/test_browser.py --ignore tests/distributed \
	--ignore tests/explanation/test_browser.py --ignore tests/examples \
	--ignore tests/study/test_cluster.py

# What most depends on versions: arrays, frames, model files, processes.
test-oldest-core: TESTS = tests/kernels tests/pairwise/learners tests/mended tests/frames tests/_utils \
	tests/test_inputs.py tests/persistence/test_models.py tests/test_process.py \
	tests/cli/test_models.py

test-oldest test-oldest-core: export OMP_NUM_THREADS = 1
test-oldest test-oldest-core: $(OLDEST)/.ready
	$(OLDEST)/$(SCRIPTS)/python -m pytest -n auto --dist worksteal $(TESTS)

# The tests with the versions of numpy, scipy, scikit-learn and pandas that are in development.
NIGHTLY_INDEX ?= https://pypi.anaconda.org/scientific-python-nightly-wheels/simple
test-nightly: export OMP_NUM_THREADS = 1
test-nightly:
	$(PYTHON) -m venv --clear $(NIGHTLY)
	$(NIGHTLY)/$(SCRIPTS)/python $(UPGRADE_PIP)
	$(NIGHTLY)/$(SCRIPTS)/python -m pip install --quiet --editable '.[all,dask]' --group test
	$(NIGHTLY)/$(SCRIPTS)/python -m pip install --quiet --upgrade --pre --only-binary :all: \
		--extra-index-url $(NIGHTLY_INDEX) numpy scipy scikit-learn pandas
	$(NIGHTLY)/$(SCRIPTS)/python -m pytest -n auto --dist worksteal $(TESTS)

# Pins the newest versions that pyproject.toml allows, for every Python it allows; and the oldest, for
# make test-oldest. river is left out of these, as it needs a newer numpy; tests do without it.
COMPILE = $(BIN)/uv pip compile --quiet --universal --upgrade --no-annotate --no-header \
	--no-emit-index-url --no-emit-find-links
constraints: $(READY)
	$(BIN)/python -m pip install --quiet uv
	$(COMPILE) --all-extras --group dev --group boosting --group docs --group bench \
		--group release --group soak --output-file constraints.txt pyproject.toml
	echo "river ; python_version < '3'" > $(VENV)/left-out.txt
	$(COMPILE) --extra all --extra dask --group test --python-version 3.11 --resolution lowest-direct \
		--override $(VENV)/left-out.txt --output-file constraints-oldest.txt pyproject.toml

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "pairmend needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(UPGRADE_PIP)
	$(BIN)/python $(INSTALL) --editable '.[all,dask]' --group dev
	touch $(READY)

# Many of the oldest versions have no wheels for newer versions of Python.
$(OLDEST)/.ready: pyproject.toml constraints-oldest.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] not in [(3, 11), (3, 12)])' || \
		{ echo "the oldest versions need Python 3.11 or 3.12: make PYTHON=python3.11 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/$(SCRIPTS)/python -m pip install --quiet --no-deps --requirement constraints-oldest.txt --editable .
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) $(NIGHTLY) .mypy_cache .pytest_cache .ruff_cache .hypothesis .soak .asv dist
	rm -rf docs/_build docs/auto_examples docs/generated
