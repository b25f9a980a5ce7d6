SHELL := /bin/bash
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
MARK := $(VENV)/.ready-$(shell cat pyproject.toml constraints/dev.txt 2>/dev/null | sha256sum | cut -c1-16)

.PHONY: help setup collector stack constraints demo check test e2e e2e-full matrix frameworks neighbours soak fuzz format clean

help: ## Show the targets.
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /: /'

setup: $(MARK) ## Make the development environment.

$(MARK):
	$(PYTHON) scripts/make_venv.py $(VENV)
	@touch $@

constraints: setup ## Renew the pinned versions, then make the environment again.
	$(BIN)/python scripts/make_venv.py --renew
	$(MAKE) setup

demo: setup ## Run the main job on the embedded simulator: no GPU, no server.
	$(BIN)/otel-specdecode demo

check: setup ## Format, lint, types, import direction.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports

test: check ## Everything that needs no real server, with coverage.
	$(BIN)/python scripts/run_tests.py

collector: setup ## Build the collector, Prometheus, Alertmanager and Jaeger; once.
	$(BIN)/python scripts/collector_build.py

stack: collector ## Run them all with live traffic; prints where to look.
	$(BIN)/python scripts/stack.py

e2e: collector ## The same against a real vLLM and a real collector.
	$(BIN)/python scripts/run_e2e.py

e2e-full: collector ## Every speculative method, every fault; before an issue is resolved.
	$(BIN)/python scripts/run_e2e.py --full

matrix: setup ## The suite over old and new versions of openai and OpenTelemetry.
	$(BIN)/python scripts/matrix.py

frameworks: setup ## The newest release of each framework, with and without us.
	$(BIN)/python scripts/frameworks.py

neighbours: setup ## Other instrumentations beside ours, each as it is released.
	$(BIN)/python scripts/neighbours.py

soak: setup ## Every ending at random for ten minutes (SECONDS=n); sums compared.
	$(BIN)/python scripts/soak.py --seconds $(or $(SECONDS),600)

fuzz: ## Search for bytes that break the readers (SECONDS=n).
	$(PYTHON) scripts/fuzz_adapters.py $(or $(SECONDS),60)

format: setup ## Format, and fix what can be fixed.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove the environment and what the tests left.
	rm -rf $(VENV) .coverage* .pytest_cache .ruff_cache .hypothesis build dist
