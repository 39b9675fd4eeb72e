# `make help` lists the targets. Python through uv (fetched into .tools where it is missing), Go, Node with npm.
SHELL := /bin/bash -eo pipefail
.DEFAULT_GOAL := help
.PHONY: help deps build build-python build-frontend build-collector up down status demo test test-backend test-system test-collector \
        test-frontend test-timescaledb test-vm lint lint-style lint-types lint-imports lint-go lint-frontend \
        lint-size lint-generated gen bench bench-collector bench-ingest bench-evidence clean

UV := $(shell command -v uv || echo $(CURDIR)/.tools/bin/uv)
RUN := cd backend && $(UV) run --frozen
FRONTEND_SOURCES := $(shell find frontend/src frontend/public frontend/index.html frontend/vite.config.ts -type f 2>/dev/null)
VERSION := $(shell git describe --always --dirty 2>/dev/null || echo 0.1.0)
# Arguments for `make up` and `make demo`: make up ARGS="--port 8000 --no-collector"
ARGS ?=

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F '\t' '{printf "  make %-18s %s\n", $$1, $$2}'

deps: ## Install system packages for all tests (root); `make up` needs none
	scripts/install_deps.sh

$(CURDIR)/.tools/bin/uv:
	python3 -m venv .tools && .tools/bin/pip --quiet install uv

build: build-python build-frontend build-collector ## Build everything: Python environment, UI, collector

build-python: $(UV)
	@# Every process of ours would compile numpy and its like again where Python may not write: done here, once.
	@cd backend && if [ .venv/compiled -nt uv.lock ]; then $(UV) sync --frozen --quiet; \
	  else $(UV) sync --frozen --quiet --compile-bytecode && touch .venv/compiled; fi && \
	  $(UV) run --frozen python -m compileall -q jitterscope

frontend/node_modules/.package-lock.json: frontend/package.json frontend/package-lock.json
	cd frontend && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

build-frontend: frontend/dist/index.html
frontend/dist/index.html: frontend/node_modules/.package-lock.json $(FRONTEND_SOURCES)
	cd frontend && npm run --silent build
	@touch $@

build-collector:
	@mkdir -p bin
	cd collector && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o ../bin/ ./cmd/...
ifdef ARCH
	cd collector && CGO_ENABLED=0 GOARCH=$(ARCH) go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" \
	  -o ../bin/jitterscope-collector-linux-$(ARCH) ./cmd/jitterscope-collector
endif

up: build ## Start everything on this machine; prints the URL and the first login
	@$(RUN) jitterscope up $(ARGS)

down: build-python ## Stop everything that `make up` started; the data stay in .run
	@$(RUN) jitterscope down

status: build-python ## Show what runs
	@$(RUN) jitterscope status

demo: build ## Start everything and run a real fault under it (without root: replay a recording of it)
	@$(RUN) jitterscope demo $(ARGS)

test: deps build lint test-collector test-frontend test-backend test-system test-timescaledb ## Run every check and test, as CI does

# Tests of code and database run beside each other; what times real faults has the machine to itself.
BESIDE := backend contract diagnosis
PARALLEL := -n 3 --dist loadfile

test-backend: build
	$(RUN) pytest $(BESIDE:%=../tests/%) $(PARALLEL) $(ARGS)

test-system: build ## Run the tests that need the whole product: browser, labs, chaos, cgroup v2
	$(RUN) pytest ../tests $(BESIDE:%=--ignore=../tests/%) --durations=60 --durations-min=5 $(ARGS)

test-collector:
	scripts/go_test.sh

test-frontend: frontend/node_modules/.package-lock.json
	cd frontend && npm test --silent

test-timescaledb: build ## Run the backend tests on real TimescaleDB (first time: root, downloads Debian's)
	cd backend && JITTERSCOPE_TEST_DATABASE=timescaledb $(UV) run --frozen pytest ../tests/backend $(PARALLEL) $(ARGS)

test-vm: build ## Boot Debian's kernel with cgroup v2 in qemu and compare the collector with its cpu.stat
	$(RUN) jitterscope lab cgroup-v2-vm $(ARGS)

lint: lint-style lint-types lint-imports lint-go lint-frontend lint-size lint-generated ## Types, style, import contracts, file sizes, generated code

lint-style: build-python
	$(RUN) ruff check --output-format concise . ../tests ../scripts ../migrations
	$(RUN) ruff format --check . ../tests ../scripts ../migrations

lint-types: build-python
	$(RUN) mypy --strict jitterscope ../tests ../scripts ../migrations

lint-imports: build-python
	$(RUN) lint-imports

lint-size: build-python
	$(RUN) python ../scripts/check_file_size.py

lint-generated: build-python
	for script in scripts/gen_*.py; do (cd backend && $(UV) run --frozen python -W ignore ../$$script --check); done

lint-go:
	@unformatted=$$(cd collector && gofmt -l $$(git ls-files '*.go' | grep -v '/bpf/.*_bpfe[lb]\.go')); \
	  [ -z "$$unformatted" ] || { echo "gofmt needed: $$unformatted" >&2; exit 1; }
	@# The kernel sends this signal when a thread ends, and threads of Go do: see internal/deathsig.
	@careless=$$(cd collector && git ls-files '*.go' | xargs grep -l Pdeathsig | xargs grep -L LockOSThread || true); \
	  [ -z "$$careless" ] || { echo "Pdeathsig without LockOSThread, use deathsig.Start: $$careless" >&2; exit 1; }
	cd collector && go vet ./... && go tool staticcheck ./...

lint-frontend: frontend/node_modules/.package-lock.json
	cd frontend && npm run --silent typecheck && npm run --silent lint

gen: build-python ## Generate code and docs from the contracts, and the OpenAPI schema from the API
	for script in scripts/gen_*.py; do (cd backend && $(UV) run --frozen python -W ignore ../$$script); done
	@if command -v clang >/dev/null && command -v llvm-strip >/dev/null; then cd collector && go generate ./...; \
	  else echo "clang or libbpf headers are missing: the kernel programs stay as committed"; fi

bench: bench-collector bench-ingest bench-evidence ## Run all benchmarks

bench-collector: build ## CPU, memory and allocations of the collector at 100 and 500 cgroups; overhead on CoreDNS; the flight recorder; traced lookups
	$(RUN) python ../tests/bench/collector.py $(ARGS)

bench-ingest: build ## Samples/s and bytes per sample beside VictoriaMetrics, in one run
	$(RUN) python ../tests/bench/ingest.py $(ARGS)

bench-evidence: build-collector ## Megabytes of packet capture a second, and memory, beside a plain read of the same file
	cd collector && go run ./bench/evidence $(ARGS)

clean: ## Stop everything and remove what was built and stored, the data too
	-@$(RUN) jitterscope down
	rm -rf .run bin frontend/dist frontend/node_modules backend/.venv .tools
