# `make demo` and `make test` need nothing but Python 3.11 or newer, with its venv.

ifeq ($(OS),Windows_NT)
PYTHON ?= python
SCRIPTS := Scripts
else
PYTHON ?= python3
SCRIPTS := bin
endif
VENV ?= .venv
BIN := $(VENV)/$(SCRIPTS)
TOOLS := build/tools/$(SCRIPTS)
# What published results were measured with; constraints.txt says which version of all else was tested.
TORCH ?= torch==2.13.0
# Where torch's CPU build is. It matters on Linux alone, whose ordinary build brings CUDA; empty for the ordinary one.
TORCH_INDEX ?= $(if $(filter Linux,$(shell uname -s)),https://download.pytorch.org/whl/cpu)
# Without compiling every module that is never imported: less to wait for, and a fifth less on disk.
PIP_INSTALL := -m pip install --disable-pip-version-check --no-compile --constraint constraints.txt
# All that users can install.
EXTRAS := annotate,competitors,dicom,ray,sam,tracking,video,witness,zarr
# What `make shadow` compares; nothing means every case.
CASE ?=
# With which torch, and from where, `make lowest` tests.
LOWEST_TORCH ?= torch==2.6.0
LOWEST_FROM ?= --torch-backend cpu
LOWEST_TESTS := $(addprefix tests/,core evaluation io learning models report superpixels tracking) src

.PHONY: demo demo-gpu annotate test shadow cells nightly fuzz faults lowest
.PHONY: constraints licences sbom package types lint format docs docs-serve bench-speed system system-nightly clean

demo: $(VENV)/installed
	rm -rf runs/demo
	$(BIN)/fewpoint demo --out runs/demo

# The same with torch's CUDA build, gigabytes more, in an environment of its own.
demo-gpu:
	$(MAKE) demo VENV=.venv-gpu TORCH_INDEX=

annotate: $(VENV)/installed-annotate
	mkdir -p runs && cd runs && ../$(BIN)/fewpoint annotate --demo

# What a change must pass, in minutes on two cores. The tests include lint and types.
test: $(VENV)/installed-test
	$(BIN)/python -m pytest -n 3 --dist loadfile

# Every stage of small runs, byte for byte, against the program of the commit that tests/shadow/BASE names.
shadow: $(VENV)/installed-test
	$(BIN)/python tests/shadow/compare.py $(CASE)

# The cells of the paper's tables that are missing, in the background; CELLS="--jobs 2" runs two at once, --stop ends them.
CELLS ?=
cells: $(VENV)/installed-test
	$(BIN)/python benchmarks/cells/start.py $(CELLS)

# All other tests, which take longer or need more.
nightly: $(VENV)/installed-test,nightly build/node/installed
	NODE_PATH="$(CURDIR)/build/node/node_modules" $(BIN)/python tests/nightly.py

# 10,000 damaged files of every kind, about ten minutes on two cores; a short part is among the tests.
fuzz: $(VENV)/installed-test
	$(BIN)/python tests/fuzz/fuzz.py --inputs 5000 --seed 1 & first=$$!; \
	$(BIN)/python tests/fuzz/fuzz.py --inputs 5000 --seed 2 && wait $$first

# Every write of a run, a refinement, a batch and a live session fails once; a short part is among the tests.
faults: $(VENV)/installed-test
	$(BIN)/python tests/faults/faults.py

# Tests that train little, with the earliest version of everything that pyproject.toml allows. If torch's own index cannot
# be reached, with the torch that is tested elsewhere.
INSTALL_LOWEST := $(TOOLS)/uv pip install --quiet --python build/lowest/bin/python --resolution lowest-direct \
  --override build/lowest/torch.txt --editable '.[test]'
lowest: build/tools/installed
	$(TOOLS)/uv venv --quiet --clear --python $(PYTHON) build/lowest
	echo "$(LOWEST_TORCH)" > build/lowest/torch.txt
	$(INSTALL_LOWEST) $(LOWEST_FROM) || { echo "$(LOWEST_TORCH) cannot be had; $(TORCH) takes its place"; \
	  echo "$(TORCH)" > build/lowest/torch.txt && $(INSTALL_LOWEST); }
	build/lowest/bin/python -m pytest -n 3 --dist loadfile $(LOWEST_TESTS)

# The newest versions that go together on every Python and system; the tests say whether they are good.
constraints: build/tools/installed
	echo "$(TORCH)" | UV_CUSTOM_COMPILE_COMMAND="make constraints" $(TOOLS)/uv pip compile pyproject.toml - --quiet \
	  --all-extras --universal --python-version 3.11 --fork-strategy fewest --no-annotate --upgrade \
	  --output-file constraints.txt

# The licence of each distribution that users get; fails on one that does not go together with ours.
licences: build/released/installed
	build/released/$(SCRIPTS)/python tests/licences.py

# What users get, as CycloneDX JSON for those who check what they install.
sbom: build/released/installed build/tools/installed
	mkdir -p dist
	$(TOOLS)/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --of JSON \
	  --output-file dist/fewpoint.cdx.json build/released/$(SCRIPTS)/python

# The wheel and the sources, into dist/, with all that a package index asks of them.
package: build/tools/installed
	$(TOOLS)/python -m build
	$(TOOLS)/twine check --strict dist/fewpoint-*.whl dist/fewpoint-*.tar.gz

types: $(VENV)/installed-test
	$(BIN)/python -m pytest tests/test_types.py

lint: $(VENV)/installed-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: $(VENV)/installed-test
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# The site, into site/; every warning is an error.
docs: $(VENV)/installed-docs
	$(BIN)/mkdocs build

docs-serve: $(VENV)/installed-docs
	$(BIN)/mkdocs serve

bench-speed: $(VENV)/installed-tracking
	$(BIN)/python benchmarks/speed.py

# What tests use of the system and is not there yet, from Debian's or Ubuntu's packages.
system:
	.ci/system

system-nightly:
	.ci/system nightly

clean:
	rm -rf .venv .venv-gpu build dist site src/*.egg-info runs
	rm -rf .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# Each stamp says that the environment holds what pyproject.toml and constraints.txt ask for; a change installs again.
$(VENV)/installed: $(VENV)/torch pyproject.toml
	@echo "Installing fewpoint into $(VENV)"
	$(BIN)/python $(PIP_INSTALL) --editable .
	@touch $@

$(VENV)/installed-%: $(VENV)/torch pyproject.toml
	@echo "Installing fewpoint[$*] into $(VENV)"
	$(BIN)/python $(PIP_INSTALL) --quiet --editable '.[$*]'
	@touch $@

$(VENV)/torch: constraints.txt
	@echo "Making an environment for Python in $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	@$(if $(TORCH_INDEX),.ci/torch $(BIN)/python '$(TORCH)' '$(TORCH_INDEX)')
	@touch $@

build/released/installed: constraints.txt pyproject.toml
	$(PYTHON) -m venv --clear build/released
	@$(if $(TORCH_INDEX),.ci/torch build/released/$(SCRIPTS)/python '$(TORCH)' '$(TORCH_INDEX)')
	build/released/$(SCRIPTS)/python $(PIP_INSTALL) --quiet '.[$(EXTRAS)]'
	@touch $@

# A reader of DICOM SEG in JavaScript. Without npm the tests that need it say so.
build/node/installed: Makefile
	@mkdir -p build/node
	npm install --prefix build/node --no-audit --no-fund --ignore-scripts --silent dcmjs@0.29.13 && touch $@ || \
	  echo "npm could not install dcmjs"

build/tools/installed: Makefile
	$(PYTHON) -m venv build/tools
	$(TOOLS)/python -m pip install --quiet build cyclonedx-bom twine uv
	@touch $@
