# Everything a newcomer needs: `make demo` to see it, `make test` to check it.
PYTHON ?= python3
SEED ?= 0
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types pytest docs fuzz bench reproduce lock clean

demo: $(VENV)/demo_installed
	$(BIN)/unknot demo --output demo

test: lint types pytest

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed
	$(BIN)/mypy

pytest: $(VENV)/installed
	$(BIN)/python -m pytest -n auto

docs: $(VENV)/docs_installed
	$(BIN)/mkdocs build --quiet --strict
	$(BIN)/python -m pytest -q tests/tools/test_site_search.py

fuzz: $(VENV)/installed
	$(BIN)/python -m tests.fuzz.run --cases 20000 --seed $(SEED)
	$(BIN)/python -m tests.fuzz.run --kills 100 --seed $(SEED)

bench: $(VENV)/installed
	$(BIN)/python benchmarks/run.py

reproduce: $(VENV)/installed
	$(BIN)/python benchmarks/reproduce.py $(PART)

lock: $(VENV)/installed
	$(BIN)/python -m tools.lock
	$(MAKE) $(VENV)/installed
	$(BIN)/python -m tools.demo_lock
	$(BIN)/python -m tools.licences

# Files whose hashes stand in the lock, where that fits the machine: CONTRIBUTING.md, "Dependencies".
$(VENV)/installed: pyproject.toml requirements.lock
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python tools/install.py
	touch $@ $(VENV)/demo_installed

# A third of it: what the demo needs, where the rest is not there yet.
$(VENV)/demo_installed: pyproject.toml requirements-demo.lock
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python tools/install.py demo
	touch $@

$(VENV)/docs_installed: $(VENV)/installed
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[docs]"
	touch $@

clean:
	rm -rf $(VENV) demo site .mypy_cache .ruff_cache .pytest_cache .hypothesis
