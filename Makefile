# `make study` and `make test` do all of their own set-up in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

OLDEST := .venv-oldest

# Tests start many processes; stored bytecode makes each start faster.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: study test test-oldest test-oldest-core soak lint format figures docs constraints clean

# make study ARGS='--data FOLDER' adds the sets in a folder, and so on: see pairmend study --help.
study: $(READY)
	$(BIN)/python -m pairmend study $(ARGS)

# One thread of BLAS for each of the test workers, which are as many as the processors.
test: export OMP_NUM_THREADS = 1
test: lint
	$(BIN)/python -m pytest -n auto --dist worksteal

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
	$(OLDEST)/bin/python -m pytest -n auto --dist worksteal $(TESTS)

# Random tests for an hour, on two processors; the next run goes on where this one stopped.
# make soak ARGS='--only readers --minutes 10', and so on: see make soak ARGS=--help.
soak: export OMP_NUM_THREADS = 1
soak: $(READY)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[soak,test]'
	$(BIN)/python -m soak $(ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/python docs/list_modules.py
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
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[docs,test]'
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	$(BIN)/python -m pytest tests/docs/test_pages.py tests/docs/check_site.py

# Pins the newest versions that pyproject.toml allows, for every Python it allows.
constraints: $(READY)
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --upgrade --all-extras --no-annotate --no-header \
		--no-emit-index-url --no-emit-find-links --output-file constraints.txt pyproject.toml
# And the oldest, for make test-oldest. river is left out, as it needs a newer numpy; tests do
# without it.
	echo "river ; python_version < '3'" > $(VENV)/left-out.txt
	$(BIN)/uv pip compile --quiet --universal --upgrade --extra test --no-annotate --no-header \
		--no-emit-index-url --no-emit-find-links --python-version 3.11 --resolution lowest-direct \
		--override $(VENV)/left-out.txt --output-file constraints-oldest.txt pyproject.toml

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "pairmend needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[test]'
	touch $(READY)

# Many of the oldest versions have no wheels for newer versions of Python.
$(OLDEST)/.ready: pyproject.toml constraints-oldest.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] not in [(3, 11), (3, 12)])' || \
		{ echo "the oldest versions need Python 3.11 or 3.12: make PYTHON=python3.11 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/pip install --quiet --no-deps --requirement constraints-oldest.txt --editable .
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) .mypy_cache .pytest_cache .ruff_cache .hypothesis .soak
	rm -rf docs/_build docs/auto_examples docs/generated
