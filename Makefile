# Everything a newcomer needs: `make demo` to see it, `make test` to check it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types pytest bench reproduce lock clean

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

bench: $(VENV)/installed
	$(BIN)/python benchmarks/run.py

reproduce: $(VENV)/installed
	$(BIN)/python benchmarks/reproduce.py $(PART)

lock: $(VENV)/installed
	$(BIN)/python -m tools.lock
	$(MAKE) $(VENV)/installed
	$(BIN)/python -m tools.licences

# Only files whose hashes stand in the lock are installed, then Unknot itself, which needs nothing more.
# HASHES=no takes the same versions from wherever pip finds them: CONTRIBUTING.md, "Dependencies".
$(VENV)/installed: pyproject.toml requirements.lock
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
ifeq ($(HASHES),no)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev]"
else
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
endif
	touch $@

clean:
	rm -rf $(VENV) demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
