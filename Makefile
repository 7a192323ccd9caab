# Each target does its own set-up; the only needs are Python >= 3.11, make and a package registry.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export SPANWISE_RAISE := 1

.PHONY: help demo test check matrix soak docs clean

help:
	@echo "make demo    run the support agent through its scenarios and explain each"
	@echo "make test    run the test suite (what needs a missing program is skipped by name)"
	@echo "make check   lint, format, types, import boundaries, generated docs"
	@echo "make matrix  every cell in every environment, SDK versions and neighbours (ARGS='--only ROW,…' or --ci)"
	@echo "make soak    the full scenario matrix and the long kill loops (minutes)"
	@echo "make docs    regenerate the documentation that comes from code"

demo: $(VENV)/demo.stamp
	$(BIN)/spanwise demo $(ARGS)

test: $(VENV)/dev.stamp
	$(BIN)/pytest -m "not soak" -n auto --maxprocesses 4 --dist loadfile --timeout 180 $(ARGS)

check: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/tree.py --check
	$(BIN)/python docs/include.py --check
	$(BIN)/python docs/dialects.py --check
	$(BIN)/python -m tests.dialects --check

matrix: $(VENV)/dev.stamp
	$(BIN)/python -m tests.matrix $(ARGS)

soak: $(VENV)/dev.stamp
	$(BIN)/pytest -m soak $(ARGS)

docs: $(VENV)/dev.stamp
	$(BIN)/python -m spanwise_analyzer.rules.book > docs/decision-guide.md
	$(BIN)/python docs/tree.py
	$(BIN)/python docs/include.py
	$(BIN)/python docs/dialects.py
	$(BIN)/python -m tests.dialects

clean:
	rm -rf $(VENV) .matrix build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Spanwise needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "python3 has no venv module; on Debian: apt-get install python3-venv" >&2; exit 1; }

$(VENV)/demo.stamp: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[demo]'
	@touch $@

$(VENV)/dev.stamp: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/demo.stamp
