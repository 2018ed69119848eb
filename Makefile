# `make study` and `make test` do all of their own set-up in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: study test soak lint format figures constraints clean

# make study ARGS='--data FOLDER' adds the sets in a folder, and so on: see pairmend study --help.
study: $(READY)
	$(BIN)/python -m pairmend study $(ARGS)

# One thread of BLAS for each of the test workers, which are as many as the processors.
test: export OMP_NUM_THREADS = 1
test: lint
	$(BIN)/python -m pytest -n auto --dist worksteal

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
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Draws the pictures of README and docs anew; the last is of the study in STUDY.
STUDY ?= pairmend-paper
figures: $(READY)
	$(BIN)/python examples/plot_mend.py --out docs/mend.png
	$(BIN)/python examples/plot_explain.py --out docs/explain.png
	$(BIN)/python examples/plot_reliability.py --out docs/reliability.png
	$(BIN)/python examples/plot_study.py $(STUDY) --out docs/study.png

# Pins the newest versions that pyproject.toml allows, for every Python it allows.
constraints: $(READY)
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --upgrade --all-extras --no-annotate --no-header \
		--no-emit-index-url --no-emit-find-links --output-file constraints.txt pyproject.toml

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "pairmend needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[test]'
	touch $(READY)

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .soak
