# `make` prints what can be done; `make test` is what CI runs.

.DEFAULT_GOAL := help
.PHONY: help test race lint bench sim fuzz mutants clis collector servers diagrams axe temporal build install build-temporal install-temporal release release-test chaos

# Each fuzz target runs this long.
FUZZTIME ?= 60s
# Where `make clis` installs the CLI agents.
HOCKET_CLIS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/hocket-clis$(if $(OLDEST),-oldest)
# Where `make collector` builds the collector of OpenTelemetry.
HOCKET_COLLECTOR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/hocket-collector
# Where `make servers` installs MCP servers, the inspector and the conformance suite.
HOCKET_SERVERS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/hocket-servers
# Where `make diagrams` installs Mermaid and PlantUML.
HOCKET_DIAGRAMS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/hocket-diagrams
# Where `make axe` installs axe-core.
HOCKET_AXE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/hocket-axe
# Where `make temporal` installs the development server of Temporal.
HOCKET_TEMPORAL ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/hocket-temporal
# Where `make install` puts hocket, and the manual pages.
BINDIR ?= $(or $(shell go env GOBIN),$(shell go env GOPATH)/bin)
MANDIR ?= $(or $(XDG_DATA_HOME),$(HOME)/.local/share)/man/man1
# Random workflows that `make sim` runs through the engine.
SIM ?= 1000000
# How many places `make mutants` breaks (0: all).
MUTANTS ?= 200
# Of the random numbers of `make sim`, `make mutants` and `make chaos`.
SEED ?= 1

help: ## Print this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: ## Check formatting, vet, and run every test (needs Go and nothing else)
	@files=$$(gofmt -l .); if [ -n "$$files" ]; then echo "not formatted:"; echo "$$files"; exit 1; fi
	go vet ./...
	@go test -vet=off -timeout 30m -json ./... | go run ./internal/testreport

race: ## Run every test under the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race ./...

lint: ## Run golangci-lint (needs golangci-lint v2)
	golangci-lint run ./...

bench: ## Print the benchmarks, one package after the other, with their baselines
	go test -p 1 -run '^$$' -bench . -benchmem ./...

sim: ## Run a million random workflows through the engine (SIM=n for another number, SEED=n to begin with another one)
	go test ./engine -run Simulation -count 1 -timeout 0 -sim $(SIM) -simfirst $(SEED)

# Of the code that is random tested only ours is watched for new ways: the clients of
# models and their kind are so large that a target would be tried a hundred times less.
fuzz: ## Run every fuzz target for a minute (FUZZTIME=10s for less)
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT; \
	for pkg in $$(go list ./...); do \
		targets=$$(go test -list '^Fuzz' $$pkg | grep '^Fuzz') || continue; \
		go test -c -o $$dir/test -gcflags='github.com/hocket-dev/hocket/...=-d=libfuzzer' $$pkg || exit 1; \
		for target in $$targets; do \
			echo "$$pkg $$target"; \
			(cd $$(go list -f '{{.Dir}}' $$pkg) && $$dir/test -test.run '^$$' -test.fuzz "^$$target$$" -test.fuzztime $(FUZZTIME) \
				-test.fuzzcachedir $$(go env GOCACHE)/fuzz/$$pkg) || exit 1; \
		done; \
	done

mutants: ## Break the code in 200 places, one by one, and expect a test to fail (MUTANTS=n, SEED=n for others)
	go run ./internal/mutants -n $(MUTANTS) -seed $(SEED)

clis: ## Install the real CLI agents and drive them against a scripted model, and as clients of the MCP server (needs npm and tmux; OLDEST=1 for the oldest ones)
	HOCKET_CLIS="$(HOCKET_CLIS)" agent/cli/real/setup
	@HOCKET_CLIS="$(HOCKET_CLIS)" go test -json ./agent/cli/real -count 1 -timeout 1h | go run ./internal/testreport

collector: ## Build the real OpenTelemetry collector once (takes minutes), and send spans and metrics to it
	HOCKET_COLLECTOR="$(HOCKET_COLLECTOR)" trace/setup
	@HOCKET_COLLECTOR="$(HOCKET_COLLECTOR)" go test -json ./trace -run RealCollector -count 1 | go run ./internal/testreport

servers: ## Install real MCP servers, clients and test suites for our MCP server and our HTTP API, and try them (needs npm)
	HOCKET_SERVERS="$(HOCKET_SERVERS)" mcp/setup
	server/setup
	@HOCKET_SERVERS="$(HOCKET_SERVERS)" go test -json ./agent/mcp ./mcp ./server -run 'Real|GeneratedClient' -count 1 | go run ./internal/testreport

diagrams: ## Install the real Mermaid and PlantUML, and compare what they and Hocket read (needs npm and a JDK; UPDATE=1 records what they read)
	HOCKET_DIAGRAMS="$(HOCKET_DIAGRAMS)" syntax/internal/tooltest/setup
	$(if $(UPDATE),HOCKET_DIAGRAMS="$(HOCKET_DIAGRAMS)" go test ./syntax/markdown/internal/mermaid ./syntax/plantuml/internal/activity -run '^TestReadsOur' -count 1 -timeout 1h -update)
	@HOCKET_DIAGRAMS="$(HOCKET_DIAGRAMS)" go test -json ./syntax/... -count 1 -timeout 1h | go run ./internal/testreport

temporal: ## Build the development server of Temporal once (takes minutes), and test the driver with it
	@[ -x $(HOCKET_TEMPORAL)/temporal ] || GOBIN=$(HOCKET_TEMPORAL) GOWORK=off go install github.com/temporalio/cli/cmd/temporal@v1.5.1
	@[ -x $(HOCKET_TEMPORAL)/workflowcheck ] || GOBIN=$(HOCKET_TEMPORAL) GOWORK=off go install go.temporal.io/sdk/contrib/tools/workflowcheck@v0.6.0
	HOCKET_TEMPORAL=$(HOCKET_TEMPORAL) driver/temporal/deterministic
	cd driver/temporal && go vet ./... && HOCKET_TEMPORAL=$(HOCKET_TEMPORAL) go test -timeout 30m -parallel 4 ./...

axe: ## Install axe-core, and check with it whether everybody can use the pages (needs npm and Chromium)
	HOCKET_AXE="$(HOCKET_AXE)" web/setup
	HOCKET_AXE="$(HOCKET_AXE)" go test ./web -run Accessible -count 1 -v

chaos: build ## Kill bin/hocket 1,900 times, damage 1,000 of its journals, have it run 1,000 random workflows (SEED=n for others)
	go test ./internal/chaos -count 1 -timeout 2h -v -hocket "$(CURDIR)/bin/hocket" -kills 1000 -session-kills 200 -replan-kills 200 -landing-kills 200 -journals 1000 -workflows 1000 -seed $(SEED)
	go test ./server -count 1 -timeout 1h -v -run Kill -server-kills 100 -server-runs 1000

build: ## Build bin/hocket
	CGO_ENABLED=0 go build -trimpath -o bin/hocket ./cmd/hocket

install: build ## Install hocket into BINDIR, and its manual pages into MANDIR, below DESTDIR
	install -d "$(DESTDIR)$(BINDIR)"
	install bin/hocket "$(DESTDIR)$(BINDIR)/hocket"
	bin/hocket man "$(DESTDIR)$(MANDIR)"

build-temporal: ## Build bin/hocket-temporal, which is hocket with the driver for Temporal
	cd driver/temporal && CGO_ENABLED=0 go build -trimpath -o ../../bin/hocket-temporal ./cmd/hocket-temporal

install-temporal: build-temporal ## Install hocket-temporal into BINDIR, below DESTDIR
	install -d "$(DESTDIR)$(BINDIR)"
	install bin/hocket-temporal "$(DESTDIR)$(BINDIR)/hocket-temporal"

release: ## Build the archives and packages of a release of the checked out commit into dist
	go run ./internal/release

release-test: ## Build a release twice, compare both, and install it in every way (needs git, curl, npm and ruby)
	go test ./internal/release -count 1 -timeout 1h -v -repo "$(CURDIR)"
