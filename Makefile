# `make demo` and `make check` need nothing but Python 3.11 or newer as python3.

PYTHON ?= python3
BIN := .venv/bin
TOOLS := build/tools/bin
# All that users can install; TORCH=torch==2.13.0 says which torch, where there is none for the newest.
EXTRAS := annotate,competitors,dicom,napari,ray,sam,tracking,video,witness,zarr
TORCH ?= torch
# With which torch, and from where, `make lowest` tests.
LOWEST_TORCH ?= torch==2.6.0
LOWEST_FROM ?= --torch-backend cpu

.PHONY: demo annotate check fast test fuzz faults lowest licences sbom types lint format docs docs-serve bench-speed clean

demo: .venv/installed
	rm -rf runs/demo
	$(BIN)/fewpoint demo --out runs/demo

annotate: .venv/installed-annotate
	mkdir -p runs && cd runs && ../$(BIN)/fewpoint annotate --demo

# All that a change must pass. The tests include lint and types; they come first to fail at once.
check: lint types test

# Less than a minute on two cores, for use while writing.
fast: .venv/installed-test
	$(BIN)/python -m pytest -n 3 --dist loadfile -m "not slow"

test: .venv/installed-test
	$(BIN)/python -m pytest -n 3 --dist loadfile

# 10,000 damaged files of every kind, about ten minutes on two cores; a short part is among the tests.
fuzz: .venv/installed-test
	$(BIN)/python tests/fuzz/fuzz.py --inputs 5000 --seed 1 & first=$$!; \
	$(BIN)/python tests/fuzz/fuzz.py --inputs 5000 --seed 2 && wait $$first

# Every write of a run, a refinement, a batch and a live session fails once; a short part is among the tests.
faults: .venv/installed-test
	$(BIN)/python tests/faults/faults.py

# The fast tests with the earliest version of everything that pyproject.toml allows.
lowest: build/tools/installed
	$(TOOLS)/uv venv --quiet --clear --python $(PYTHON) build/lowest
	echo "$(LOWEST_TORCH)" > build/lowest/torch.txt
	$(TOOLS)/uv pip install --quiet --python build/lowest/bin/python --resolution lowest-direct \
	  --override build/lowest/torch.txt $(LOWEST_FROM) --editable '.[test]'
	build/lowest/bin/python -m pytest -n 3 --dist loadfile -m "not slow"

# The licence of each distribution that users get; fails on one that does not go together with ours.
licences: build/released/installed
	build/released/bin/python tests/licences.py

# What users get, as CycloneDX JSON for those who check what they install.
sbom: build/released/installed build/tools/installed
	mkdir -p dist
	$(TOOLS)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --of JSON \
	  --output-file dist/fewpoint.cdx.json build/released/bin/python

types: .venv/installed-test
	$(BIN)/python -m pytest tests/test_types.py

lint: .venv/installed-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: .venv/installed-test
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# The site, into site/; every warning is an error.
docs: .venv/installed-docs
	$(BIN)/mkdocs build

docs-serve: .venv/installed-docs
	$(BIN)/mkdocs serve

bench-speed: .venv/installed-tracking
	$(BIN)/python benchmarks/speed.py

clean:
	rm -rf .venv build dist site src/*.egg-info runs
	rm -rf .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Each stamp says that the environment holds what pyproject.toml asks for; a change there installs again.
.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable .
	touch $@

.venv/installed-%: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[$*]'
	touch $@

build/released/installed: pyproject.toml
	$(PYTHON) -m venv --clear build/released
	build/released/bin/pip install --quiet '$(TORCH)' '.[$(EXTRAS)]'
	touch $@

build/tools/installed:
	$(PYTHON) -m venv build/tools
	$(TOOLS)/pip install --quiet build cyclonedx-bom uv
	touch $@
