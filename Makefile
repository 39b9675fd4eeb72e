# `make help` lists the targets. Python through uv (fetched into .tools where it is missing), Go, Node with npm.
SHELL := /bin/bash -eo pipefail
.DEFAULT_GOAL := help
# No target here is a file, but for those that are paths.
.PHONY: $(shell grep -oE '^[a-z-]+:' $(MAKEFILE_LIST) | tr -d :)

UV := $(shell command -v uv || echo $(CURDIR)/.tools/bin/uv)
GIVE_WAY :=
RUN = cd backend && $(GIVE_WAY) $(UV) run --frozen
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
	  $(UV) run --frozen python -m compileall -q jitterscope labs

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

cluster-up: build-python build-collector ## Start a real Kubernetes of two nodes, or ARGS="--nodes 1" (root; the first build takes 11 min of CPU)
	@$(RUN) jitterscope cluster up $(ARGS)

cluster-down: build-python ## End it and remove everything of it, also after a crash; the built programs stay cached
	@$(RUN) jitterscope cluster down

demo: build ## Start everything and run a real fault under it (without root: replay a recording of it)
	@$(RUN) jitterscope demo $(ARGS)

# `make test` in stages. What times something mostly waits: labs for faults to last, browser tests for pages. What only
# computes runs beside them on the CPU time that they leave (scripts/give_way.sh).
STAGES := deps build product collector labs
STAGE_deps := deps
STAGE_build := build
BESIDE := -j4 --output-sync=target BESIDE_EACH_OTHER=yes
STAGE_product := $(BESIDE) test-lab-parts-then-browser test-chaos lint test-storage test-frontend test-collector-code
STAGE_collector := $(BESIDE) test-collector-live test-diagnosis
STAGE_labs := $(BESIDE) test-live test-backend
# Within a stage all is built: a target that had to look would lose its turn to those behind it.
ifdef BESIDE_EACH_OTHER
GIVE_WAY := $(CURDIR)/scripts/give_way.sh
test-lab-parts test-other-kernel test-browser: GIVE_WAY :=
test-chaos: GIVE_WAY := $(CURDIR)/scripts/own_network.sh
else
BUILT := build
.NOTPARALLEL:
endif
stage-product stage-labs: stage-build

# Which live lab runs `make test` makes: turn (a twelfth of them, by the commit), 1 to 12, or all; docs/decisions/0075.
LABS ?= turn
PARALLEL := -n 3 --dist loadgroup
CODE := backend contract diagnosis
# Of the backend's tests, those that another kind of database may change.
STORAGE := series ingest inventory recordings platform/test_database.py
DATABASE := $(if $(filter 0,$(shell id -u)),timescaledb,embedded)

test: $(STAGES:%=stage-%) ## Run every check and test, as CI does

# Their names are given: make looks for no pattern rule for a target that is phony, and runs nothing instead.
$(STAGES:%=stage-%): stage-%:
	@scripts/stage.sh $* $(MAKE) --no-print-directory $(STAGE_$*)

test-fast: build-python build-collector ## Run the tests that need no root, no lab, no browser and little time
	@$(MAKE) --no-print-directory $(BESIDE) test-code test-collector-code test-frontend ARGS='-m "not slow" $(ARGS)'

test-code: $(BUILT)
	$(RUN) pytest ../tests/contract ../tests/diagnosis ../tests/backend $(PARALLEL) $(ARGS)

test-labs: build ## Run every live lab run (root, an hour), or with LABS=1 to LABS=12 a twelfth of them, and test-schema
	@$(MAKE) --no-print-directory $(BESIDE) test-live $(if $(ARGS),,test-schema) LABS=$(LABS:turn=all)

test-schema: $(BUILT) ## Run the test of the API's schema with 200 examples of each operation, of which `make test` makes 8
	cd backend && JITTERSCOPE_EXAMPLES=200 $(GIVE_WAY) $(UV) run --frozen pytest ../tests/backend/platform/test_schemathesis.py \
	  -n 2 --dist load

test-diagnosis: $(BUILT)
	$(RUN) pytest ../tests/contract ../tests/diagnosis $(PARALLEL) $(ARGS)

test-backend: $(BUILT)
	cd backend && JITTERSCOPE_TEST_DATABASE=$(DATABASE) $(GIVE_WAY) $(UV) run --frozen pytest ../tests/backend $(PARALLEL) $(ARGS)

test-storage: $(BUILT)
	$(RUN) pytest $(STORAGE:%=../tests/backend/%) -n 2 --dist loadfile $(ARGS)

test-browser: $(BUILT) ## Run the browser tests
	$(RUN) pytest ../tests/e2e -m "not live" -n 3 --dist loadfile --durations=20 --durations-min=5 $(ARGS)

test-chaos: $(BUILT)
	$(RUN) pytest ../tests/chaos $(ARGS)

test-lab-parts: $(BUILT) ## Run the tests of what labs are made of (root)
	$(RUN) pytest ../tests/labs -m "not live" --durations=20 --durations-min=5 $(ARGS)

test-other-kernel: $(BUILT) ## Run the tests of the collector on another kernel, in qemu
	$(RUN) pytest ../tests/vm -m "not live" --durations=20 --durations-min=5 $(ARGS)

# Beside each other all three take as long, and pages wait for it: parts of labs compute, too.
test-lab-parts-then-browser:
	@status=0; $(MAKE) --no-print-directory --keep-going test-lab-parts test-other-kernel || status=1; \
	  $(MAKE) --no-print-directory test-browser || status=1; exit $$status

test-live: $(BUILT)
	cd backend && JITTERSCOPE_LABS=$(LABS) $(UV) run --frozen pytest ../tests -m live $(CODE:%=--ignore=../tests/%) --durations=0 \
	  --durations-min=5 $(ARGS)

SPACE := $(subst ,, )
# Packages whose tests watch the kernel and real programs need the machine to themselves: those that ask testenv for it.
LIVE = $(shell cd collector && git grep -lE 'testenv\.|journaltest\.' -- 'internal/*_test.go' | xargs -n1 dirname | sort -u)

test-collector: test-collector-code test-collector-live ## Run the tests of the collector

test-collector-code:
	$(GIVE_WAY) scripts/go_test.sh $$(cd collector && go list ./... | grep -vE '/($(subst $(SPACE),|,$(LIVE)))$$')

test-collector-live:
	scripts/go_test.sh $(LIVE:%=./%)

test-frontend: frontend/node_modules/.package-lock.json
	cd frontend && $(GIVE_WAY) npm test --silent

hooks: ## Check style and file sizes before each commit, with a git hook
	install -m 755 scripts/pre_commit.sh "$$(git rev-parse --git-path hooks)/pre-commit"

test-vm: build ## Boot Debian's kernel with cgroup v2 in qemu and compare the collector with its cpu.stat
	$(RUN) jitterscope lab cgroup-v2-vm $(ARGS)

lint: lint-style lint-types lint-imports lint-unused lint-dependencies lint-go lint-frontend lint-size lint-generated ## Types, style, import contracts, licences, file sizes, generated code

lint-style: build-python
	$(RUN) ruff check --output-format concise . ../tests ../scripts ../migrations
	$(RUN) ruff format --check . ../tests ../scripts ../migrations
	@! git grep -nE '\{[^{}]*:\.[0-9]%\}' -- backend/jitterscope backend/labs || { echo 'docs/style.md: a space before %, as in f"{100 * share:.0f} %"'; false; }

lint-types: build-python
	$(RUN) mypy --strict jitterscope labs ../tests ../scripts ../migrations

lint-imports: build-python
	$(RUN) lint-imports

lint-unused: build-python
	$(RUN) python ../scripts/check_unused.py

lint-dependencies: build-python frontend/node_modules/.package-lock.json
	$(RUN) python ../scripts/check_dependencies.py

audit: build-python frontend/node_modules/.package-lock.json ## Ask the OSV database whether versions of the locks have known holes (needs the internet)
	$(RUN) python ../scripts/check_dependencies.py --holes

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
	cd collector && $(GIVE_WAY) go vet ./... && $(GIVE_WAY) go tool staticcheck ./...
	@# What no program calls, be it tested or not; then what no test calls either, of the packages that help tests.
	@dead=$$(cd collector && go tool deadcode ./cmd/... ./bench/... && go tool deadcode -test ./...); \
	  [ -z "$$dead" ] || { echo "unused code: $$dead" >&2; exit 1; }

lint-frontend: frontend/node_modules/.package-lock.json
	cd frontend && $(GIVE_WAY) npm run --silent typecheck && $(GIVE_WAY) npm run --silent lint

gen: build-python ## Generate code and docs from the contracts, and the OpenAPI schema from the API
	for script in scripts/gen_*.py; do (cd backend && $(UV) run --frozen python -W ignore ../$$script); done
	@if command -v clang >/dev/null && command -v llvm-strip >/dev/null; then cd collector && go generate ./...; \
	  else echo "clang or libbpf headers are missing: the kernel programs stay as committed"; fi

screenshots: build ## Write pictures of every page to .run/screenshots, at desktop and phone width, light and dark
	cd backend && JITTERSCOPE_SCREENSHOTS=$(CURDIR)/.run/screenshots $(UV) run --frozen pytest ../tests/e2e -k looks $(ARGS)

bench: bench-collector bench-ingest bench-evidence bench-diagnosis bench-frames ## Run all benchmarks

bench-collector: build ## CPU, memory and allocations of the collector at 100 and 500 cgroups; overhead on CoreDNS; the flight recorder; traced lookups
	$(RUN) python ../tests/bench/collector.py $(ARGS)

bench-ingest: build ## Samples/s and bytes per sample beside VictoriaMetrics, in one run
	$(RUN) python ../tests/bench/ingest.py $(ARGS)

bench-diagnosis: build-python ## CPU time of the worker for each diagnosis, over all recordings
	$(RUN) python ../tests/bench/diagnosis.py $(ARGS)

bench-nodes: build-python ## Twenty nodes replayed at once, half of them faulty: CPU of each program, time to incident
	$(RUN) python ../tests/bench/nodes.py $(ARGS)

bench-tenants: build-python ## Half an hour of random expensive requests of four principals: memory, and what another organization waits
	$(RUN) python ../tests/bench/tenants.py $(ARGS)

bench-fixes: build ## One fix of each cause applied three times while its fault goes on, five hours: prediction, outcome, verdicts
	$(RUN) python ../tests/bench/fixes.py $(ARGS)

bench-frames: build ## What a step of panning and zooming takes with 100,000 answers in the picture
	$(RUN) pytest ../tests/e2e/test_performance.py -rP $(ARGS)

bench-evidence: build-collector ## Megabytes of packet capture a second, and memory, beside a plain read of the same file
	cd collector && go run ./bench/evidence $(ARGS)

clean: ## Stop everything and remove what was built and stored, the data too
	-@$(RUN) jitterscope down
	rm -rf .run bin frontend/dist frontend/node_modules backend/.venv .tools
