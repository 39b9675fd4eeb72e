# `make help` lists the targets. Python runs through uv (installed into .tools if missing); Go and Node with npm are needed.
SHELL := /bin/bash -eo pipefail
.DEFAULT_GOAL := help
# No target here is a file, except those that are paths.
.PHONY: $(shell grep -oE '^[a-z0-9-]+:' $(MAKEFILE_LIST) | tr -d :)

# With compiled tests, a process collects the backend's in 6 s instead of 10; __pycache__ is ignored by git.
unexport PYTHONDONTWRITEBYTECODE
# Without a checkout's path in them, compiled packages are found in Go's cache by every checkout.
export GOFLAGS := $(GOFLAGS) -trimpath

# A distribution builds its Python with profile-guided and link-time optimization; pyenv by default does not, and pure
# Python takes a fifth longer. Set UV_PYTHON to use another one.
UV_PYTHON ?= $(shell /usr/bin/python3 -Sc 'import sys; print(sys.executable if sys.version_info >= (3, 11) else "")' 2>/dev/null)
ifneq ($(strip $(UV_PYTHON)),)
export UV_PYTHON := $(UV_PYTHON)
endif

UV := $(shell command -v uv || echo $(CURDIR)/.tools/bin/uv)
GIVE_WAY :=
RUN = cd backend && $(GIVE_WAY) $(UV) run --frozen
FRONTEND_SOURCES := $(shell find frontend/src frontend/public frontend/index.html frontend/vite.config.ts -type f 2>/dev/null)
VERSION := $(shell git describe --always --dirty 2>/dev/null || echo 0.1.0)
# Arguments for `make up` and `make demo`: make up ARGS="--port 8000 --no-collector"
ARGS ?=

help: ## Show this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F '\t' '{printf "  make %-21s %s\n", $$1, $$2}'

deps: ## Install the system packages that the tests need (root); `make up` needs none
	scripts/install_deps.sh

$(CURDIR)/.tools/bin/uv:
	python3 -m venv .tools && .tools/bin/pip --quiet install uv

build: build-python build-frontend build-collector ## Build everything: Python environment, UI, and collector

build-python: $(UV)
	@# Compiled once here: where Python cannot write bytecode, each process would compile numpy and others again.
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
	cd collector && CGO_ENABLED=0 go build -ldflags "-s -w -X main.version=$(VERSION)" -o ../bin/ ./cmd/...
ifdef ARCH
	cd collector && CGO_ENABLED=0 GOARCH=$(ARCH) go build -ldflags "-s -w -X main.version=$(VERSION)" \
	  -o ../bin/jitterscope-collector-linux-$(ARCH) ./cmd/jitterscope-collector
endif

up: build ## Start everything on this machine; prints the URL and the first login
	@$(RUN) jitterscope up $(ARGS)

down: build-python ## Stop everything that `make up` started; data stays in .run
	@$(RUN) jitterscope down

status: build-python ## Show what is running
	@$(RUN) jitterscope status

cluster-up: build-python build-collector ## Start a real two-node Kubernetes cluster, or ARGS="--nodes 1" (root; the first build takes 11 min of CPU time)
	@$(RUN) jitterscope cluster up $(ARGS)

cluster-down: build-python ## Stop the cluster and remove everything it created, even after a crash; built programs stay cached
	@$(RUN) jitterscope cluster down

demo: build ## Start everything and inject a real fault (without root: replay a recording of one)
	@$(RUN) jitterscope demo $(ARGS)

# `make test` runs in stages. Tests that measure time mostly wait: labs for faults, browser tests for pages. CPU-bound
# tests run alongside on the CPU time left over (scripts/give_way.sh).
STAGES := deps build product collector labs
STAGE_deps := deps
STAGE_build := build
BESIDE := -j5 --output-sync=target BESIDE_EACH_OTHER=yes
STAGE_product := $(BESIDE) test-what-gives-no-way test-demo test-chaos test-collector-code
STAGE_collector := $(BESIDE) test-collector-live test-diagnosis
STAGE_labs := $(BESIDE) test-live test-backend test-storage lint
# Within a stage everything is already built: a target that checked again would lose its turn to those behind it.
ifdef BESIDE_EACH_OTHER
GIVE_WAY := $(CURDIR)/scripts/give_way.sh
test-lab-parts test-other-kernel test-frontend test-browser: GIVE_WAY :=
test-chaos test-demo: GIVE_WAY := $(CURDIR)/scripts/own_network.sh
else
BUILT := build
.NOTPARALLEL:
endif
stage-product stage-labs: stage-build

# Live lab runs in `make test`: turn (one sixteenth, chosen by the commit), 1 to 16, or all; docs/decisions/0075.
LABS ?= turn
PARALLEL := -n 3 --dist loadgroup
CODE := backend contract diagnosis
# Backend tests whose result can depend on the kind of database.
STORAGE := series ingest inventory recordings platform/test_database.py
DATABASE := $(if $(filter 0,$(shell id -u)),timescaledb,embedded)

test: $(STAGES:%=stage-%) ## Run all checks and tests, as CI does

# A static pattern rule: make skips the search for implicit rules on phony targets and would run nothing.
$(STAGES:%=stage-%): stage-%:
	@scripts/stage.sh $* $(MAKE) --no-print-directory $(STAGE_$*)

test-fast: build-python build-collector ## Run the quick tests that need no root, lab, or browser
	@$(MAKE) --no-print-directory $(BESIDE) test-code test-collector-code test-frontend \
	  ARGS='-m "not slow" --ignore=../$(SCHEMA_TEST) $(ARGS)'

# Its tests are slow, and so is finding them: for each operation of the API, examples are drawn.
SCHEMA_TEST := tests/backend/platform/test_schemathesis.py
HOSTILE_TEST := tests/backend/ingest/test_hostile.py
WINDOW_TESTS := tests/diagnosis/test_recordings.py tests/diagnosis/test_unexplained.py

test-code: $(BUILT)
	$(RUN) pytest ../tests/contract ../tests/diagnosis ../tests/backend $(PARALLEL) $(ARGS)

test-labs: build ## Run all live labs (root, an hour), or one sixteenth with LABS=1 to LABS=16, test-fuzz, and test-collector-arm64
	@$(MAKE) --no-print-directory $(BESIDE) test-live $(if $(ARGS),,test-fuzz test-collector-arm64) LABS=$(LABS:turn=all)

test-fuzz: $(BUILT) ## Run the API schema test with 200 examples per operation (`make test`: 8 of every fourth), send 10,000 hostile batches (2,000), and judge all windows of the recordings (every fourth)
	cd backend && JITTERSCOPE_PARTS=all JITTERSCOPE_EXAMPLES=200 JITTERSCOPE_HOSTILE_BATCHES=10000 $(GIVE_WAY) $(UV) run --frozen pytest \
	  $(addprefix ../,$(SCHEMA_TEST) $(HOSTILE_TEST) $(WINDOW_TESTS)) -n 2 --dist load

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

test-lab-parts: $(BUILT) ## Run the tests of the lab components (root)
	$(RUN) pytest ../$(CLEANUP_TEST) $(ARGS)
	$(RUN) pytest ../tests/labs -m "not live" --ignore=../$(DEMO_TEST) --ignore=../$(CLEANUP_TEST) -n 2 --dist loadfile \
	  --durations=20 --durations-min=5 $(ARGS)

# What a killed lab leaves, the next one removes: no other may start meanwhile.
CLEANUP_TEST := tests/labs/test_cleanup.py
# Its recording is replayed as fast as it was recorded: it waits nearly all the time.
DEMO_TEST := tests/labs/test_demo.py
test-demo: $(BUILT)
	$(RUN) pytest ../$(DEMO_TEST) -m "not live" $(ARGS)

test-other-kernel: $(BUILT) ## Run the collector tests on another kernel, in QEMU
	$(RUN) pytest ../tests/vm -m "not live" $(ARGS)

# In parallel all of them take just as long and pages wait for CPU time: lab components are CPU-bound too. Vitest fails if
# one of its workers needs 90 s to start, which it does where it gives way to all others.
test-what-gives-no-way:
	@status=0; for parts in "test-lab-parts test-other-kernel" test-frontend test-browser; do \
	  $(MAKE) --no-print-directory --keep-going $$parts || status=1; done; exit $$status

test-live: $(BUILT) ## Run live labs; of services with parameters drawn at random with LABS=all DRAW=7
	cd backend && JITTERSCOPE_LABS=$(LABS) JITTERSCOPE_DRAW=$(DRAW) $(UV) run --frozen pytest ../tests -m live $(CODE:%=--ignore=../tests/%) --durations=0 \
	  --durations-min=5 $(ARGS)

SPACE := $(subst ,, )
# Packages whose tests watch the kernel and real programs need the machine to themselves: those that use testenv.
LIVE = $(shell cd collector && git grep -lE 'testenv\.|journaltest\.' -- 'internal/*_test.go' | xargs -n1 dirname | sort -u)

test-collector: test-collector-code test-collector-live ## Run the collector tests

test-collector-code:
	$(GIVE_WAY) scripts/go_test.sh $$(cd collector && go list ./... | grep -vE '/($(subst $(SPACE),|,$(LIVE)))$$')

test-collector-live:
	@# What takes longest begins first.
	scripts/go_test.sh ./internal/livetest $(filter-out ./internal/livetest,$(LIVE:%=./%))

# Parsers have fuzz tests or captures. Of packages that also watch this machine's kernel, only the parsers run on an emulator.
PARSERS = $(shell cd collector && (git grep -l '^func Fuzz' -- 'internal/*_test.go' | xargs -n1 dirname; git ls-files 'internal/*/testdata/*' | cut -d/ -f1,2) | sort -u)
# From the samples to the server: batches must have the same bytes as those of contracts/, which the backend decodes.
WIRE := internal/batch internal/pipeline internal/ship internal/spool internal/switches
ARM64 = cd collector && CGO_ENABLED=0 GOARCH=arm64 $(GIVE_WAY) go test -count=1 -vet=off -exec qemu-aarch64-static
test-collector-arm64: ## Run the collector for arm64 and the tests of its parsers and batches, on an emulator (qemu-user-static)
	$(ARM64) $(patsubst %,./%,$(filter-out $(LIVE),$(PARSERS)) $(WIRE))
	$(ARM64) -run '^(TestParse|Fuzz)' $(patsubst %,./%,$(filter $(LIVE),$(PARSERS)))
	cd collector && $(GIVE_WAY) go test -count=1 -vet=off -run '^TestProgram$$' ./cmd/jitterscope-collector -arch arm64

test-frontend: frontend/node_modules/.package-lock.json
	cd frontend && $(GIVE_WAY) npm test --silent

hooks: ## Install a git hook that checks style and file sizes before each commit
	install -D -m 755 scripts/pre_commit.sh "$$(git rev-parse --git-path hooks)/pre-commit"

test-vm: build ## Boot Debian's kernel with cgroup v2 in QEMU and compare the collector with its cpu.stat
	$(RUN) jitterscope lab cgroup-v2-vm $(ARGS)

lint: lint-style lint-types lint-imports lint-unused lint-dependencies lint-go lint-frontend lint-size lint-generated ## Check types, style, import contracts, licenses, file sizes, and generated code

lint-style: build-python
	$(RUN) ruff check --output-format concise . ../tests ../scripts ../migrations
	$(RUN) ruff format --check . ../tests ../scripts ../migrations
	@! git grep -nE '\{[^{}]*:\.[0-9]%\}' -- backend/jitterscope backend/labs || { echo 'docs/style.md: a space before %, as in f"{100 * share:.0f} %"'; false; }

# mypy compares contents: with a cache outside the clone, a fresh clone takes 2 s instead of 54.
MYPY_CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/jitterscope/mypy
lint-types: build-python
	$(RUN) mypy --cache-dir $(MYPY_CACHE) --strict jitterscope labs ../tests ../scripts ../migrations

lint-imports: build-python
	$(RUN) lint-imports
	$(RUN) python ../scripts/check_sql.py

lint-unused: build-python
	$(RUN) python ../scripts/check_unused.py

lint-dependencies: build-python frontend/node_modules/.package-lock.json
	$(RUN) python ../scripts/check_dependencies.py

audit: build-python frontend/node_modules/.package-lock.json ## Check locked dependency versions for known vulnerabilities in the OSV database (needs internet access)
	$(RUN) python ../scripts/check_dependencies.py --holes

lint-size: build-python
	$(RUN) python ../scripts/check_file_size.py

lint-generated: build-python
	$(RUN) python ../scripts/generate.py --check

lint-go:
	@unformatted=$$(cd collector && gofmt -l $$(git ls-files '*.go' | grep -v '/bpf/.*_bpfe[lb]\.go')); \
	  [ -z "$$unformatted" ] || { echo "gofmt needed: $$unformatted" >&2; exit 1; }
	@# The kernel sends this signal when the parent thread ends, and Go ends threads: see internal/deathsig.
	@careless=$$(cd collector && git ls-files '*.go' | xargs grep -l Pdeathsig | xargs grep -L LockOSThread || true); \
	  [ -z "$$careless" ] || { echo "Pdeathsig without LockOSThread, use deathsig.Start: $$careless" >&2; exit 1; }
	cd collector && $(GIVE_WAY) go vet ./... && $(GIVE_WAY) go tool staticcheck ./...
	@# Code that no program calls, tested or not; then code in test helper packages that no test calls either.
	@dead=$$(cd collector && go tool deadcode ./cmd/... ./bench/... && go tool deadcode -test ./...); \
	  [ -z "$$dead" ] || { echo "unused code: $$dead" >&2; exit 1; }

lint-frontend: frontend/node_modules/.package-lock.json
	cd frontend && $(GIVE_WAY) npm run --silent typecheck && $(GIVE_WAY) npm run --silent lint

gen: build-python ## Generate code and docs from the contracts, and the OpenAPI schema from the API
	$(RUN) python ../scripts/generate.py
	@if command -v clang >/dev/null && command -v llvm-strip >/dev/null; then cd collector && go generate ./...; \
	  else echo "clang or llvm-strip is missing: the eBPF programs stay as committed"; fi

screenshots: build ## Run the browser tests and write screenshots of every page to .run/screenshots: phone to ultrawide, light and dark
	@JITTERSCOPE_SCREENSHOTS=$(CURDIR)/.run/screenshots $(MAKE) --no-print-directory test-browser

bench: bench-collector bench-ingest bench-evidence bench-diagnosis bench-frames ## Run all benchmarks

bench-collector: build ## Measure the collector: CPU, memory, and allocations at 100 and 500 cgroups, overhead on CoreDNS, flight recorder, traced lookups
	$(RUN) python ../tests/bench/collector.py $(ARGS)

bench-ingest: build ## Measure samples/s and bytes per sample next to VictoriaMetrics, in one run
	$(RUN) python ../tests/bench/ingest.py $(ARGS)

bench-diagnosis: build-python ## Measure the worker's CPU time per diagnosis, over all recordings
	$(RUN) python ../tests/bench/diagnosis.py $(ARGS)

bench-nodes: build-python ## Replay 20 nodes at once, half of them faulty: CPU of each program and time to incident
	$(RUN) python ../tests/bench/nodes.py $(ARGS)

bench-tenants: build-python ## Send random expensive requests from four principals for 30 min: memory, and waiting time of another organization
	$(RUN) python ../tests/bench/tenants.py $(ARGS)

bench-services: build-python ## Measure the list of servers and the map of calls over a day of 12 busy servers
	$(RUN) python ../tests/bench/services.py $(ARGS)

bench-fixes: build ## Apply one fix per cause three times while its fault continues (five hours): predictions, outcomes, verdicts
	$(RUN) python ../tests/bench/fixes.py $(ARGS)

bench-frames: build ## Measure a pan or zoom step with 100,000 answers in the timeline
	$(RUN) pytest ../tests/e2e/test_performance.py -rP $(ARGS)

bench-evidence: build-collector ## Measure throughput (MB/s) and memory for packet captures, next to a plain read of the same file
	cd collector && go run ./bench/evidence $(ARGS)

clean: ## Stop everything and remove build output and all stored data
	-@$(RUN) jitterscope down
	rm -rf .run bin frontend/dist frontend/node_modules backend/.venv .tools
