# Everything a newcomer needs: `make demo` to see it, `make test` to check it.
PYTHON ?= python3
SEED ?= 0
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types pytest fuzz bench reproduce clean

demo: $(VENV)/installed
	$(BIN)/unknot demo --output demo

test: lint types pytest

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed
	$(BIN)/mypy

pytest: $(VENV)/installed
	$(BIN)/python -m pytest -n auto

fuzz: $(VENV)/installed
	$(BIN)/python -m tests.fuzz.run --cases 20000 --seed $(SEED)
	$(BIN)/python -m tests.fuzz.run --kills 100 --seed $(SEED)

bench: $(VENV)/installed
	$(BIN)/python benchmarks/run.py

reproduce: $(VENV)/installed
	$(BIN)/python benchmarks/reproduce.py $(PART)

$(VENV)/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
