# `make demo` and `make test` need nothing but Python 3.11 or newer as python3.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo annotate test bench-speed lint format clean

demo: .venv/installed
	rm -rf runs/demo
	$(BIN)/fewpoint demo --out runs/demo

annotate: .venv/installed-annotate
	mkdir -p runs && cd runs && ../$(BIN)/fewpoint annotate --demo

test: .venv/installed-test
	$(BIN)/python -m pytest -n 2 --dist loadfile

bench-speed: .venv/installed
	$(BIN)/python benchmarks/speed.py

lint: .venv/installed-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: .venv/installed-test
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:
	rm -rf .venv build dist src/*.egg-info runs
	rm -rf .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Each stamp says that the environment holds what pyproject.toml asks for; a change there installs anew.
.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable .
	touch $@

.venv/installed-annotate: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[annotate]'
	touch $@

.venv/installed-test: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[test]'
	touch $@
