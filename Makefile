# Each goal installs what it needs: the locked versions, into .venv. `make help` lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := .venv/bin
READY := .venv/ready
# The blocks of a page share names and a folder, so one process runs them in order.
PAGES := README.md docs langgraph_fabric

# No goal reaches a network but the package index. Examples use a real model when FABRIC_MODEL is set.
include offline.env
export $(shell sed 's/=.*//' offline.env)

# The first interpreter that starts and is new enough; a shim without its version does not start.
define FIND_PYTHON
for name in python3.11 python3; do \
  if "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo "$$name"; exit; fi; \
done; \
echo "Python 3.11 or later is needed: no python3.11 or python3 of that age was found." >&2; exit 1
endef

.PHONY: help demo test lint type docs bench lock clean

help: ## List the goals
	@sed -nE 's/^([a-z]+):[^#]*## (.*)/  make \1\t\2/p' Makefile | expand -t 14

demo: $(READY) ## Run the tour, offline
	$(BIN)/python examples/quickstart.py

test: $(READY) ## Run the whole suite, and the code blocks of README and docs
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal tests
	$(BIN)/python -m pytest $(PAGES)

lint: $(READY) ## Check style, format and import contracts
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

type: $(READY) ## Check types, strictly
	$(BIN)/basedpyright --pythonpath $(BIN)/python

docs: $(READY) ## Run only the code blocks of README, docs and docstrings
	$(BIN)/python -m pytest $(PAGES)

bench: $(READY) ## Measure recall on LoCoMo (LOCOMO_DIR names its folder)
	$(BIN)/python benchmarks/locomo.py

lock: $(READY) ## Write requirements.lock anew from pyproject.toml
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --upgrade \
	  --no-config --no-header --annotation-style line --quiet --output-file requirements.lock

clean: ## Remove the environment and every cache
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist build

# The lock has every package, so pip resolves nothing. Python compiles what it imports, on import.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile

$(READY): requirements.lock pyproject.toml
	@python=$$($(FIND_PYTHON)); "$$python" -m venv .venv
	$(PIP_INSTALL) --requirement requirements.lock
	$(PIP_INSTALL) --no-build-isolation --editable .
	@$(BIN)/python -m pip check
	@touch $@
