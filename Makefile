# One line a target. `make VENV=somewhere <target>` uses another virtual environment.
VENV ?= .venv
PYTHON ?= python3
ARGS ?=
BIN := $(VENV)/bin
export PATH := $(abspath $(BIN)):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help setup try hooks check lint types arch test test-slow fix schema docs new-platform golden wheel-smoke

help:  ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14
setup:  ## make the virtual environment and install the tested set of packages into it
	$(PYTHON) -m venv $(VENV) && python -m pip install -c constraints.txt -e '.[dev]'
try: setup  ## install, then print the matrix of the sim platform and run the compiled example on it
	FLAGOS_PLATFORM=sim flagos-runtime check && FLAGOS_PLATFORM=sim python examples/reproducer.py
hooks:  ## run the linters before every commit
	pre-commit install
check: lint types arch test  ## everything that a change must pass
lint:  ## ruff, formatting, spelling, package metadata
	ruff check . && ruff format --check . && codespell && validate-pyproject pyproject.toml
types:  ## mypy strict and pyright
	mypy --strict && pyright
arch:  ## layers, the one-writer law, import cost
	lint-imports && pytest tests/architecture
test:  ## the fast tests; choose with ARGS="-k ledger"
	pytest -m "not slow" $(ARGS)
test-slow:  ## the tests marked slow
	pytest -m slow $(ARGS)
fix:  ## format and apply ruff's fixes
	ruff format . && ruff check --fix .
schema:  ## rewrite schemas/ from the models, and the page of environment variables
	for name in routes report snapshot survey; do flagos-runtime schema $$name > schemas/new && mv schemas/new schemas/$$name.schema.json || exit; done
	python -c 'from flagos_runtime.config.environment import environment_page as page; print(page(), end="")' > docs/environment.md
docs:  ## rewrite the pages of the platforms, docs/platforms/
	FLAGOS_RUNTIME=off python tools/platform_docs.py
new-platform:  ## start a platform, for instance NAME=acme; the conformance tests say what is missing
	python tools/new_platform.py $(NAME)
	-pytest -q tests/conformance -k $(NAME)
golden:  ## rewrite the expected texts of tests/; review the diff
	UPDATE_GOLDEN=1 pytest -m "not slow" $(ARGS)
wheel-smoke:  ## build wheel and sdist, install each outside the tree, use both
	pytest -m slow tests/packaging $(ARGS)
