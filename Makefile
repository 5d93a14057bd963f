# Everything that a person or a build machine runs. Needs make and Python 3.11 or newer, nothing else.

VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8080
PYTHON ?= $(shell for candidate in python3.13 python3.12 python3.11 python3; do \
	"$$candidate" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo "$$candidate" && break; done)

# Locked wheels only: nothing is fetched, and nothing built, that requirements/ doesn't name by its hash. The files are
# complete, and pip mustn't resolve them again: for `coverage[toml]` it would try a newer `coverage` than the locked one.
INSTALL := $(BIN)/python -m pip install --quiet --no-input --disable-pip-version-check
INSTALL_LOCKED := $(INSTALL) --require-hashes --no-deps --only-binary :all: --requirement

# Hundreds of processes are started: where nobody may keep bytecode, each compiles all of Mainspring again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

# --- Use -------------------------------------------------------------------------------------------------------------

.PHONY: run
run: $(VENV)/.package ## Start everything with sample jobs on http://127.0.0.1:8080 (PORT=… for another port)
	@exec $(BIN)/mainspring serve --samples --port $(PORT)

# --- The gate: tests and types cover the benchmarks too, and so need their requirements ------------------------------

.PHONY: test
test: $(VENV)/.bench ## Run the whole suite into TEST_RESULTS.md (ARGS=…)
	@$(BIN)/pytest --results TEST_RESULTS.md $(ARGS)

.PHONY: test-all
test-all: $(VENV)/.bench servers ## Install the servers that tests need and run the whole suite; a test that lacks one fails
	@CI=true $(BIN)/pytest --results TEST_RESULTS.md $(ARGS)

.PHONY: servers
servers: ## Install what only tests need and this machine lacks: Chromium and npm, Cassandra, Prometheus
	@scripts/install_browser.sh
	@scripts/install_cassandra.sh
	@scripts/install_prometheus.sh

.PHONY: check
check: check-format check-lint check-types check-imports check-lock check-docs ## Check format, lint, types, imports, lock files and docs

.PHONY: check-format
check-format: $(VENV)/.dev
	@$(BIN)/ruff format --check .

.PHONY: check-lint
check-lint: $(VENV)/.dev
	@$(BIN)/ruff check .

.PHONY: check-types
check-types: $(VENV)/.bench
	@$(BIN)/mypy

.PHONY: check-imports
check-imports: $(VENV)/.dev
	@$(BIN)/lint-imports --no-cache

.PHONY: check-lock
check-lock: $(VENV)/.dev
	@$(BIN)/python -m scripts.check_lock
	@$(BIN)/python -m pip check

.PHONY: check-docs
check-docs: $(VENV)/.dev
	@$(BIN)/python -m scripts.check_docs

# --- Longer runs -----------------------------------------------------------------------------------------------------

.PHONY: coverage
coverage: $(VENV)/.bench ## Run the suite and report the branch coverage of all packages
	@$(BIN)/pytest --cov=mainspring --cov-fail-under=0 --cov-report=term $(ARGS)

.PHONY: chaos
chaos: $(VENV)/.bench ## Run the long tests that kill, pause and starve processes
	@$(BIN)/pytest -m chaos --timeout=3600 $(ARGS)

.PHONY: attack
attack: $(VENV)/.bench ## Attack real processes on the loopback: hold connections, kill, fuzz, fill disks (ARGS=…)
	@$(BIN)/pytest -m "not chaos" --timeout=1200 tests/attack tests/api/test_hostile.py tests/api/test_isolation.py $(ARGS)

.PHONY: bench
bench: $(VENV)/.bench ## Measure Mainspring against its peers (ARGS=…)
	@$(BIN)/python -m benchmarks $(ARGS)

# --- Upkeep ----------------------------------------------------------------------------------------------------------

.PHONY: format
format: $(VENV)/.dev ## Format the code and fix what the linter can
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

.PHONY: docs
docs: $(VENV)/.dev ## Write the reference pages that follow from the program: settings and commands
	@$(BIN)/python -m scripts.write_reference

.PHONY: lock
lock: $(VENV)/.lock ## Resolve pyproject.toml into requirements/ (UPGRADE=1 takes newer versions)
	@$(BIN)/python -m scripts.lock $(if $(UPGRADE),--upgrade)

.PHONY: clean
clean: ## Delete the environment and every cache; data/ stays
	rm -rf $(VENV) .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache dist TEST_RESULTS.md
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- The environment: each stamp says that its requirements are installed ---------------------------------------------

$(BIN)/pip:
	@test -n "$(PYTHON)" || { echo "Mainspring needs Python 3.11 or newer with its venv module." \
		"Install it, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "Creating $(VENV) with $(PYTHON)"
	@"$(PYTHON)" -m venv $(VENV)

$(VENV)/.run: requirements/run.txt | $(BIN)/pip
	@echo "Installing $<"
	@$(INSTALL_LOCKED) $<
	@touch $@

$(VENV)/.package: pyproject.toml $(VENV)/.run
	@echo "Installing mainspring itself"
	@$(INSTALL) --no-index --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.package
	@echo "Installing $<"
	@$(INSTALL_LOCKED) $<
	@touch $@

$(VENV)/.bench: requirements/bench.txt $(VENV)/.dev
	@echo "Installing $<"
	@$(INSTALL_LOCKED) $<
	@touch $@

$(VENV)/.lock: requirements/lock.txt | $(BIN)/pip
	@echo "Installing $<"
	@$(INSTALL_LOCKED) $<
	@touch $@
