# The recipes people and CI call. `make help` lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOOLS := $(VENV)/.tools
HOST ?= 127.0.0.1
PORT ?= 8000

# Every cargo call sees the same interpreter and the same kind of build. Without this the
# binding crate would be compiled anew each time the recipes change hands.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PYO3_BUILD_EXTENSION_MODULE := 1
export VIRTUAL_ENV := $(CURDIR)/$(VENV)

.PHONY: help serve test conformance build release lint fmt test-rust test-python interop bench bench-listeners bench-workers wheel clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

serve: release ## Build in release and serve the first example
	@echo
	@echo "Serving examples/01_greeter.py. Call it from another terminal:"
	@echo
	@$(BIN)/python scripts/show_call.py http://$(HOST):$(PORT)/mcp greet '{"name":"Ada"}'
	@echo
	@exec $(BIN)/python -m snodo serve examples/01_greeter.py --host $(HOST) --port $(PORT)

test: lint test-rust test-python ## Build and check everything

conformance: build ## Run the official MCP conformance suite
	$(BIN)/python tests/conformance/run

build: $(TOOLS) ## Debug build, installed into .venv
	@$(BIN)/maturin develop --locked --quiet

release: $(TOOLS) ## Release build, installed into .venv
	@$(BIN)/maturin develop --locked --quiet --release

lint: build ## Formatting, lints and types
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest snodo._snodo

# The binding crate has no tests of its own: it is tested from Python.
test-rust: $(TOOLS) ## The Rust tests
	@if cargo nextest --version >/dev/null 2>&1; then \
	  set -x; cargo nextest run --workspace --exclude snodo-py --locked --no-tests=pass; \
	else \
	  set -x; cargo test --workspace --exclude snodo-py --locked; \
	fi

test-python: build ## The Python tests, the examples and the README
	$(BIN)/python -m pytest

interop: build ## Only the official clients against snodo
	$(BIN)/python -m pytest tests/interop

fmt: $(TOOLS) ## Format everything
	cargo fmt --all
	$(BIN)/ruff check --fix --select I .
	$(BIN)/ruff format .

bench: release ## Calls per second, end to end, on this machine
	$(BIN)/python benches/run.py

bench-listeners: release ## What a listener costs, and how soon an event reaches the last one
	$(BIN)/python benches/listeners.py

bench-workers: release ## What several workers do where one would do
	$(BIN)/python benches/workers.py

wheel: $(TOOLS) ## Build a wheel into dist/
	$(BIN)/maturin build --locked --release --out dist

clean: ## Remove .venv and what was built
	rm -rf $(VENV) dist
	cargo clean

$(TOOLS): requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; name one with PYTHON=…" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@
