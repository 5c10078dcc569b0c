# Everything a person or CI runs. `make help` lists the targets.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
CARGO := cargo
export NO_COLOR ?= 1

PURE := netenf-policy netenf-learn netenf-k8s netenf-api

.PHONY: help deps build demo fmt lint test test-unit test-cli test-interop generate bench doc clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

deps: ## Check the tools that building and testing need, and fetch crates
	@for tool in cargo gcc go; do command -v $$tool >/dev/null || { echo "error: $$tool is missing; install it and run make again" >&2; exit 3; }; done
	@$(CARGO) fetch --locked --quiet

build: deps ## Build the command line (debug)
	$(CARGO) build --locked -p kubectl-netenf

demo: deps ## Learn from a recording in this repository, review, promote: no cluster needed
	@$(CARGO) build --locked --quiet --release -p kubectl-netenf
	@bash docs/demo/demo.sh "$$($(CARGO) metadata --format-version 1 --no-deps | sed -E 's/.*"target_directory":"([^"]*)".*/\1/')/release"

fmt: ## Format the code
	$(CARGO) fmt --all

lint: ## Format check, clippy, documentation, and each pure crate on its own
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps --quiet
	@for crate in $(PURE); do $(CARGO) check --locked --quiet -p $$crate; done

test: deps lint test-unit test-cli test-interop ## Everything that CI runs

test-unit: ## Unit, property, snapshot, drift and tidy tests: no network, no privileges
	$(CARGO) test --locked --workspace --exclude kubectl-netenf

test-cli: ## The command line as a process, and its unit tests
	$(CARGO) test --locked -p kubectl-netenf --bins --test it

test-interop: ## What we write, judged by genuine Kubernetes code (built from Go modules once)
	$(CARGO) test --locked -p kubectl-netenf --test interop

generate: ## Write all generated files: CRDs, protocol bindings, completions, command reference
	$(CARGO) run --locked --quiet -p xtask -- codegen

bench: deps ## Benchmarks beside their peers; see docs/performance.md
	$(CARGO) bench --locked -p netenf-learn -p netenf-flows
	$(CARGO) run --locked --quiet --release -p xtask -- bench

doc: ## Build the documentation of the crates
	$(CARGO) doc --locked --workspace --no-deps

clean: ## Remove what was built
	$(CARGO) clean
