# Every target makes .venv first, from the exact versions in constraints.txt, and only if it is not
# up to date. Another interpreter: make test PYTHON=/path/to/python3.11

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq -c constraints.txt
# One thread per process: two test workers share two cores without getting in each other's way.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q
# Tests that start real Flower deployments run after the others, one by one: they share one.
DEPLOYED := tests/system/flower
SHARED := -n 2 --ignore $(DEPLOYED)

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow torture check format bench bench-quick coverage docs dist clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.run  ## train four rules on built-in data and show what they do to each user
	$(BIN)/fedmgda demo

test: check  ## run the checks, fetch the data and the browser of tests if that is possible, then run all that take seconds
	@$(BIN)/python scripts/fetch_test_data.py
	@PYTHONPATH=tests $(BIN)/python scripts/install_chromium.py
	$(PYTEST) $(SHARED)
	$(PYTEST) $(DEPLOYED)

test-slow: $(VENV)/.dev  ## run the tests that take minutes
	$(PYTEST) $(SHARED) -m slow
	$(PYTEST) $(DEPLOYED) -m slow

torture: $(VENV)/.dev  ## stop, starve and damage it everywhere, which takes up to an hour
	$(PYTEST) $(SHARED) -m torture

check: $(VENV)/.dev  ## check format, lint, types and layers
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy --no-error-summary
	$(BIN)/lint-imports

format: $(VENV)/.dev  ## format the code and apply safe lint fixes
	$(BIN)/ruff check --quiet --fix .
	$(BIN)/ruff format --quiet .

bench: $(VENV)/.dev  ## measure beside the peers (half an hour), write benchmarks/results and docs/performance.md
	$(BIN)/python benchmarks/install_peers.py
	$(BIN)/python benchmarks/bench_w1.py
	$(BIN)/python benchmarks/bench_local.py
	$(BIN)/python benchmarks/bench_protected.py
	solvers=.bench/solvers; test -f $$solvers/installed.json || solvers=$(VENV); \
		OMP_NUM_THREADS=1 PYTHONPATH=src $$solvers/bin/python benchmarks/bench_minnorm.py
	$(BIN)/python benchmarks/bench_aggregation.py
	$(BIN)/python benchmarks/bench_scaling.py
	PYTHONPATH=tests $(BIN)/python benchmarks/bench_report.py
	$(BIN)/python benchmarks/write_report.py

bench-quick: $(VENV)/.dev  ## measure ours alone in less than a minute, write nothing
	@$(BIN)/python benchmarks/quick.py

coverage: $(VENV)/.dev  ## run all quick tests and print the branch coverage of every package
	@$(PIP) --group coverage
	$(PYTEST) $(SHARED) --cov --cov-report=
	$(PYTEST) $(DEPLOYED) --cov --cov-append --cov-report=json:build/coverage.json
	$(BIN)/python scripts/coverage_by_package.py build/coverage.json

docs: $(VENV)/.dev  ## run the examples in docstrings, check the links in the documents, build the site
	$(PYTEST) $(SHARED) src
	$(BIN)/python scripts/check_links.py README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md docs
	$(BIN)/python -m sphinx -q -W --keep-going -b html -d build/doctrees docs build/site
	@echo "The site is build/site/index.html."

dist: $(VENV)/.dev  ## build wheel and sdist, and try the core of the wheel alone in a new environment
	rm -rf dist
	$(BIN)/python -m hatchling build
	$(BIN)/python scripts/try_wheel.py dist

clean:  ## remove the environment, caches and build products; never runs or results
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests examples benchmarks scripts docs -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.pip: constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.version_info >= (3, 11) or sys.exit(f"fedmgda needs Python 3.11 or newer, got {v}; name another one with PYTHON=...")'
	@echo "Installing into $(VENV) (a minute or two the first time)."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) pip hatchling editables
	@touch $@

# torch first: the largest wheel decides early whether the rest is worth fetching.
$(VENV)/.run: $(VENV)/.pip pyproject.toml
	@$(PIP) torch
	@$(PIP) --no-build-isolation --editable '.[all]'
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@$(PIP) --no-build-isolation --editable '.[all,flower]' --group test --group check --group docs
	@touch $@
