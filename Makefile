# Every target installs what it needs, once: `make run` and `make test` work on a fresh checkout.
PYTHON ?= python3
UV ?= uv
# The Python versions that types are checked for.
PYTHONS := 3.11 3.12 3.13
BIN := .venv/bin
PIP := $(BIN)/pip --quiet --disable-pip-version-check
COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-annotate --no-header pyproject.toml --extra local

# Stamps of what is installed: each is renewed when a file that it depends on is newer.
RUN_READY := .venv/run-ready
DEV_READY := .venv/dev-ready
NODE_READY := node_modules/ready
BROWSER_READY := tests/browser/node_modules/ready
CODEGEN_READY := tests/codegen/node_modules/ready
EMULATOR_READY := build/emulator/ready
CHECKOV_READY := build/checkov/ready

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup setup-dev run demo test test-thorough chaos bench bench-cpu lint infra-test package e2e cold-start schema requirements clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(RUN_READY) $(NODE_READY) ## install the local stack and .venv/bin/leaderboard

setup-dev: setup $(DEV_READY) $(BROWSER_READY) $(CODEGEN_READY) ## install the tools for tests and linting too

run: setup ## run the whole stack on http://localhost:8080/graphql (ARGS="--port 9000", see `leaderboard run --help`)
	@$(BIN)/leaderboard run $(ARGS)

demo: setup ## import Formula 1 results into the local stack and print a board
	@$(BIN)/leaderboard demo $(ARGS)

test: setup-dev ## run the tests (ARGS="-k rank")
	$(BIN)/pytest -n 2 -m "not thorough" $(ARGS)

test-thorough: setup-dev ## run the tests that `make test` leaves out because they take long
	$(BIN)/pytest -n 2 -m thorough $(ARGS)

chaos: setup-dev ## run the core on a database that fails at random (ARGS="--seeds 1000", see ARGS=--help)
	$(BIN)/python -m tests.chaos $(ARGS)

bench: setup-dev ## measure what reads and writes cost, into docs/capacity.md: hours (ARGS="--quick": a minute)
	$(BIN)/python -m bench.capacity $(ARGS)

bench-cpu: setup-dev ## measure the CPU of requests to DynamoDB and of GraphQL (docs/benchmarks.md)
	$(BIN)/python -m bench.cpu clients $(ARGS)
	$(BIN)/python -m bench.cpu graphql $(ARGS)

lint: setup-dev ## check style, types on each Python, layers, and that schema.graphql is up to date
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	for python in $(PYTHONS); do $(BIN)/mypy --python-version $$python || exit 1; done
	$(BIN)/lint-imports
	$(BIN)/python -m resolvers.schema | diff -u schema.graphql -

infra-test: $(CHECKOV_READY) ## check the Terraform: format, validation, tests, checkov (needs terraform)
	terraform fmt -check -recursive infra
	scripts/terraform-init infra -backend=false >/dev/null
	terraform -chdir=infra validate
	terraform -chdir=infra test
	scripts/terraform-init infra/examples/root -backend=false >/dev/null
	terraform -chdir=infra/examples/root validate
	terraform -chdir=infra/examples/root test -var-file=environments/staging.tfvars
	terraform -chdir=infra/examples/root test -var-file=environments/production.tfvars
	build/checkov/bin/checkov --directory infra --config-file infra/.checkov.yaml

package: setup-dev ## build the Lambda packages into build/package
	$(BIN)/python scripts/package.py

e2e: package $(EMULATOR_READY) ## deploy to an AWS emulator, test, plan again and destroy (needs terraform)
	$(BIN)/pytest tests/e2e $(ARGS)

cold-start: setup-dev ## compare the Lambdas' import times with boto3's
	$(BIN)/python bench/cold_start.py $(ARGS)

schema: setup ## write schema.graphql, and the rank index's projection for Terraform, from the code
	$(BIN)/python -m resolvers.schema > schema.graphql
	$(BIN)/python -c 'import json; from core.domain.entry_item import PROJECTED; print(json.dumps(PROJECTED))' \
		> infra/rank_index.json

requirements: ## pin the newest packages that pyproject.toml allows (needs uv)
	$(COMPILE) --upgrade --group dev --output-file requirements/dev.txt
	$(COMPILE) --upgrade --constraint requirements/dev.txt requirements/build.in --output-file requirements/run.txt

clean: ## remove everything that setup and tests created, but not the data folder
	rm -rf .venv node_modules tests/browser/node_modules tests/codegen/node_modules .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUN_READY): requirements/run.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; choose one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 1; }
	@echo "Installing Python packages into .venv (once, about half a minute)"
	@$(PYTHON) -m venv .venv
	@$(PIP) install --require-hashes -r requirements/run.txt
	@$(PIP) install --no-build-isolation --no-deps -e .
	@touch $@

$(DEV_READY): requirements/dev.txt $(RUN_READY)
	@echo "Installing test tools and linters into .venv (once, about half a minute)"
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

# Each in its own environment: their pinned packages differ from ours.
build/%/ready: requirements/%.txt
	@echo "Installing $* into build/$* (once)"
	@$(PYTHON) -m venv build/$*
	@build/$*/bin/pip --quiet --disable-pip-version-check install -r $<
	@touch $@

# No lock file: it would name a registry, and the engine's checksum for one platform only. The engine is an
# optional package: on a platform without it, npm succeeds and the stack falls back to moto.
$(NODE_READY): package.json
	@echo "Fetching the DynamoDB engine, GraphiQL and the console's libraries into node_modules (once)"
	@mkdir -p node_modules
	@npm install --no-package-lock --no-audit --no-fund --loglevel=error && touch $@ || \
		echo "warning: npm failed; the stack runs on moto's slow server, without GraphiQL and the console" >&2

# esbuild and Amplify need no install scripts. The browser is the system's.
$(BROWSER_READY): tests/browser/package.json
	@echo "Fetching Amplify and axe-core for the tests in a browser into tests/browser/node_modules (once)"
	@mkdir -p $(@D)
	@cd tests/browser && npm install --ignore-scripts --no-package-lock --no-audit --no-fund --loglevel=error && \
		touch node_modules/ready || echo "warning: npm failed; the tests in a browser are skipped" >&2

$(CODEGEN_READY): tests/codegen/package.json
	@echo "Fetching graphql-codegen for a test into tests/codegen/node_modules (once)"
	@mkdir -p $(@D)
	@cd tests/codegen && npm install --ignore-scripts --no-package-lock --no-audit --no-fund --loglevel=error && \
		touch node_modules/ready || echo "warning: npm failed; the test of generated code is skipped" >&2
