# Everything is built and installed inside this checkout: .venv, target, dist.

PYTHON ?= python3
export PYTHON

CARGO ?= cargo
BIN := .venv/bin
STAMPS := .venv/.stamps

# Steps share .venv and target.
.NOTPARALLEL:

# maturin and cargo must build for the same Python, or each would rebuild what the other built.
export PYO3_PYTHON := $(CURDIR)/.venv/bin/python
export VIRTUAL_ENV := $(CURDIR)/.venv
export PIP_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_QUIET := 1
export PIP_ROOT_USER_ACTION := ignore
unexport CONDA_PREFIX
# The tests start some thousand Pythons: where bytecode is not kept, each compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

RUST_SOURCES := $(shell find crates -type f) Cargo.toml $(wildcard Cargo.lock)
DEVELOP := $(BIN)/maturin develop --release --quiet
WHEEL := maturin build --release --quiet
# The package of the bench is in python/. It needs the library, at its own version; so that comes first,
# and without the extra `bench`.
IN_BENCH := cd python && PIP_CONSTRAINT=../constraints.txt

.PHONY: help
help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r target text; \
	do printf '  make %-13s %s\n' "$$target" "$$text"; done

.PHONY: build
build: $(STAMPS)/bench ## build everything that the command needs, into .venv

.PHONY: demo
demo: build ## build, then send small messages in every way, side by side
	@$(BIN)/tinygram stream

# Tests wait more than they compute. What only computes runs beside them, in the time that they leave; Rust
# tests have deadlines of milliseconds, and come after it.
.PHONY: test
test: $(STAMPS)/real $(STAMPS)/older-uvloop ## lint, types, documentation and the tests
	@$(BIN)/python scripts/beside "$(MAKE) --no-print-directory checks" $(MAKE) --no-print-directory pytest
	$(CARGO) test --quiet --workspace --locked --tests

.PHONY: fuzz
FUZZ_SECONDS ?= 600
fuzz: $(STAMPS)/dev ## give parsers of what others send anything, FUZZ_SECONDS for each of five groups
	FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/pytest -q tests/hosts/test_fuzz.py

.PHONY: checks
checks: lint stubtest doc cargo-build models doc-tests ## what `make test` does beside the Python tests; the only tests in it are loom's and the crates' examples

# The fuzz targets are a workspace of their own. CI only checks that they compile, for to run them takes minutes.
FUZZ := --manifest-path fuzz/Cargo.toml

.PHONY: lint
lint: $(STAMPS)/dev types ## check formatting, lints, types and the architecture's import rules
	@scripts/check-tools lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(CARGO) fmt --check
	$(CARGO) fmt --check $(FUZZ)
	$(CARGO) clippy --quiet --workspace --all-targets --locked -- -D warnings
	@# The library's crates alone, as Rust programs have them: the bench's could switch on more features.
	$(CARGO) clippy --quiet -p tinygram-core -p tinygram-net --lib --examples --locked -- -D warnings
	$(CARGO) clippy --quiet $(FUZZ) --no-default-features --locked --target-dir target -- -D warnings
	$(BIN)/lint-imports --no-cache

.PHONY: types
types: $(STAMPS)/real
	$(BIN)/mypy

.PHONY: doc
doc: $(STAMPS)/dev ## build the Rust crates' documentation, into target/doc
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --no-deps --workspace --locked

.PHONY: docs
docs: $(STAMPS)/docs ## build the documentation as a site, into target/website/site; a warning is an error
	@$(BIN)/python -m website
	@cd target/website && $(CURDIR)/$(BIN)/zensical build --strict

# Not with --tests: tests run the examples, which that does not build.
.PHONY: cargo-build
cargo-build: $(STAMPS)/dev
	$(CARGO) test --quiet --workspace --locked --no-run

# Examples in the documentation of the crates: most of their time is the compiler's.
.PHONY: doc-tests
doc-tests: $(STAMPS)/dev
	$(CARGO) test --quiet --workspace --locked --doc

# In a directory of its own, for the flag is every crate's.
.PHONY: models
models: $(STAMPS)/dev ## run every order of the threads that send on one connection, with loom
	RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom \
	$(CARGO) test --quiet --profile models --locked --package tinygram-net --lib models

.PHONY: sanitize
sanitize: ## run the native threads' tests with ThreadSanitizer; needs Rust's nightly toolchain
	scripts/sanitize

.PHONY: free-threaded
free-threaded: ## build the library for a Python without a GIL, and run the tests of threads there
	scripts/free-threaded

.PHONY: proof
proof: ## check the proof of what the strategy `competitive` promises; needs Coq
	@scripts/check-tools proof
	@scripts/check-proof

# The native modules' stubs say what the modules have, argument by argument.
.PHONY: stubtest
stubtest: $(STAMPS)/dev
	$(BIN)/stubtest --mypy-config-file pyproject.toml tinygram._native tinygram_bench._native

# Tests wait more than they compute: four at a time keep two cores busy. Files start in their order,
# for the longest have few tests, and would else begin last.
.PHONY: pytest
pytest: $(STAMPS)/dev $(STAMPS)/older-uvloop
	$(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder

# Some need root, and are skipped.
.PHONY: test-user
test-user: $(STAMPS)/dev $(STAMPS)/older-uvloop ## run the tests as a user without rights (TESTS=tests/rr for a part)
	scripts/as-user ordinary $(BIN)/pytest -n 4 --dist loadfile --no-loadscope-reorder \
		-p no:cacheprovider $(TESTS)

.PHONY: test-real
test-real: $(STAMPS)/real ## run uvicorn, aiohttp, websockets, redis-py, coredis, and CPython's and uvloop's tests, on our loops
	@scripts/check-tools real
	@scripts/uvloop-suite
	$(BIN)/pytest -n 4 --dist loadfile tests/real
	$(BIN)/pytest -n 4 --dist worksteal tests/suites

.PHONY: test-cluster
test-cluster: $(STAMPS)/cluster ## run loads between four hosts of a Ray cluster, each a network namespace
	$(BIN)/pytest tests/cluster/on_ray

.PHONY: test-interpreters
test-interpreters: $(STAMPS)/real ## run the library's tests and test-real's on every other CPython found (TESTS=library|real, NEWEST=1)
	@scripts/check-tools real
	NEWEST=$(NEWEST) scripts/interpreters $(TESTS)

.PHONY: format
format: $(STAMPS)/dev ## put all code into its canonical form
	@scripts/check-tools lint
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(CARGO) fmt
	$(CARGO) fmt $(FUZZ)

# The scripts of benches/ are modules of the folders there.
IN_BENCHES := PYTHONPATH=benches $(BIN)/python -m

.PHONY: trust
trust: build ## measure which differences this machine can tell apart, for docs/trust.md; five minutes
	$(BIN)/tinygram trust --page docs/trust.md

# RENEW=1: write what was counted as what is expected.
.PHONY: counts
counts: build ## count instructions, writes and wake-ups a message, beside those expected; a minute (RENEW=1: expect these; STORE=1: for docs/speed.md)
	@scripts/check-tools counts
	@$(IN_BENCHES) counts $(if $(RENEW),--renew) $(call INTO,speed)

# STORE=1: put the rows of a measurement where `make figures` makes the documentation's tables of them.
ROWS := results/published/rows
INTO = $(if $(STORE),--into $(ROWS)/$(1).json)
ON_SPEED := bench.calls_speed bench.echo_speed bench.peers_speed bench.pacing \
	library.speed library.large_writes library.connects library.threads fan_out send_calls

.PHONY: bench
bench: build $(STAMPS)/older-uvloop ## measure what the bench itself costs, and how fast it is (STORE=1: for docs/speed.md)
	@status=0; for module in bench.receiver_speed bench.counting_cost bench.live_cost bench.by_hand \
		library.stats_cost; do \
		echo "$$module"; $(IN_BENCHES) $$module || status=1; \
	done; for module in $(ON_SPEED); do \
		echo "$$module"; $(IN_BENCHES) $$module $(call INTO,speed) || status=1; \
	done; exit $$status

.PHONY: bench-real
bench-real: $(STAMPS)/real ## measure those programs on each loop, as it is and with the drop-in (STORE=1: for docs/)
	@scripts/check-tools bench-real
	@$(IN_BENCHES) real.servers $(call INTO,real-programs)
	@$(IN_BENCHES) real.programs $(call INTO,real-programs)

.PHONY: scale
scale: build ## measure what a cluster costs the bench as it grows, simulated; a minute (STORE=1: for docs/scale.md)
	@$(IN_BENCHES) scale $(call INTO,scale)

.PHONY: tls
tls: build ## measure what TLS costs, and round trips beside aiofastnet's; a quarter of an hour (STORE=1: for docs/how-to/measure-tls.md)
	@$(IN_BENCHES) over_tls $(call INTO,measure-tls)
	@$(IN_BENCHES) round_trips $(call INTO,measure-tls)

# Results that are there are not measured again: remove those that are to be.
.PHONY: published-claims
published-claims: build ## measure the claims of docs/claims.md, into results/published-claims and that page; forty minutes
	@$(IN_BENCHES) published_claims --results results/published-claims
	@$(IN_BENCHES) published

.PHONY: bench-links
bench-links: build ## measure how accurate emulated links are, into docs/links.md
	@$(IN_BENCHES) links --page docs/links.md

.PHONY: resolution
resolution: build ## measure what slices do, and which differences are found, into docs/resolution.md; three hours
	@$(IN_BENCHES) turns.effects --into $(ROWS)/resolution.json
	@$(IN_BENCHES) turns.targets --into $(ROWS)/resolution.json
	@$(IN_BENCHES) turns.targets --disturbed --slice-ms 3 --into $(ROWS)/resolution.json
	@$(IN_BENCHES) turns.targets --alike --into $(ROWS)/resolution.json
	@mkdir -p results
	$(BIN)/tinygram trust --against-lone --json results/against-lone.json
	@$(IN_BENCHES) turns.alone results/against-lone.json --into $(ROWS)/resolution.json
	@$(IN_BENCHES) published

.PHONY: costs
costs: build ## measure what calls, sleeps and writes cost here, for the simulation; half a minute
	@$(IN_BENCHES) costs --into crates/simulation/costs.txt

SIMULATION := results/published/simulation

.PHONY: simulation
simulation: ## what each strategy costs in virtual time, into results/published/simulation.md; two minutes
	$(CARGO) run --quiet --release --locked --package tinygram-simulation page > $(SIMULATION).md.new
	mv $(SIMULATION).md.new $(SIMULATION).md

.PHONY: kernel-tls
kernel-tls: $(STAMPS)/dev ## run the tests of TLS in the kernel on user-mode Linux; needs user-mode-linux and kmod
	scripts/in-user-mode-linux $(BIN)/pytest -k the_kernel tests/tls

.PHONY: simulation-confirm
simulation-confirm: ## the same on hosts and with seeds that nothing is tuned with, for when a rule is finished
	$(CARGO) run --quiet --release --locked --package tinygram-simulation confirm > $(SIMULATION)-confirm.md.new
	mv $(SIMULATION)-confirm.md.new $(SIMULATION)-confirm.md

# SET: seeds and sizes (tuning; or confirm and slices, which are measured once over a grid, in slices of one
# length; AGAIN=1: once more). PAGE: where the page goes.
SET ?= tuning
PAGE ?= results/claim-$(SET).md
CLAIM = $(IN_BENCHES) claim --set $(SET) --page $(PAGE) $(if $(AGAIN),--again)

.PHONY: claim
claim: build ## test the claim of docs/claim.md in 45 minutes (SET=confirm: other seeds and sizes)
	@$(CLAIM)

.PHONY: claim-quick
claim-quick: build ## the same for a part of the cells, in 7 minutes
	@$(CLAIM) --grid quick

.PHONY: claim-links
claim-links: SET := confirm
claim-links: PAGE := results/claim-links.md
claim-links: build ## the same over emulated links, a part of the loads, in 25 minutes; with set confirm, which counts once
	@$(CLAIM) --grid links

LOST = --lost-in results/published/claim-confirm.md --runtime threads --minutes 20

.PHONY: claim-slices
claim-slices: SET := slices
claim-slices: build ## the cells of threads that claim-confirm.md has as lost, in slices of 200 ms: 20 minutes at most
	@$(CLAIM) $(LOST) --slice-ms 200

.PHONY: claim-slices-control
claim-slices-control: SET := slices
claim-slices-control: PAGE := results/claim-slices-control.md
claim-slices-control: build ## the same cells in the claim's own slices, as the control: 20 minutes at most
	@$(CLAIM) $(LOST)

.PHONY: man
man: build ## write the man pages of the command into target/man/man1 (MANPATH=target/man man tinygram)
	@$(BIN)/tinygram man --into target/man/man1

# Each page there has its result inside: measure one again by `tinygram rerun PAGE --json FILE`, and make it
# a page by `tinygram report FILE --html PAGE`.
.PHONY: figures
figures: build ## draw the charts of README and docs, and fill in their tables, from results/published
	@$(IN_BENCHES) published

.PHONY: wheel
wheel: $(STAMPS)/maturin ## build the wheels of library and bench, for every Python from 3.11 on, into dist/
	$(BIN)/$(WHEEL) --interpreter $(BIN)/python --out dist
	$(IN_BENCH) ../$(BIN)/$(WHEEL) --interpreter ../$(BIN)/python --out ../dist

.PHONY: clean
clean: ## remove all that was built; results stay
	rm -rf .venv target dist .mypy_cache .ruff_cache .hypothesis python/*/*.so
	find python tests benches -name __pycache__ -prune -exec rm -rf {} +

# Stamps: a step is done again when what it was made from has changed.

$(STAMPS)/venv:
	@scripts/check-tools build
	@$(PYTHON) -m venv .venv
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/maturin: constraints.txt $(STAMPS)/venv
	@echo "installing maturin into .venv"
	@$(BIN)/pip install maturin
	@touch $@

$(STAMPS)/bench: $(STAMPS)/maturin pyproject.toml python/pyproject.toml $(RUST_SOURCES)
	@echo "building tinygram and tinygram-bench into .venv (release; the first time takes a minute or two)"
	@$(DEVELOP) --extras uvloop,aiofastnet
	@$(IN_BENCH) ../$(DEVELOP) --extras report,frames,tls
	@touch $@

# Installs all packages but Ray, which only clusters need; CI runs it while something is built.
.PHONY: packages
packages: $(STAMPS)/maturin
	@echo "installing all packages into .venv"
	@grep -v '^#\|^ray==' constraints.txt | xargs $(BIN)/pip install --no-deps

# What else pip installs is for the tinygram that is in .venv: nothing is built or packed again.
$(STAMPS)/dev: $(STAMPS)/bench
	@echo "installing what the tests need into .venv"
	@$(BIN)/pip install 'tinygram[dev]'
	@touch $@

$(STAMPS)/docs: constraints.txt $(STAMPS)/bench
	@echo "installing zensical into .venv"
	@$(BIN)/pip install zensical
	@touch $@

# Where only the sides of benches/library find it, for .venv has the newest one.
$(STAMPS)/older-uvloop: benches/library/older-uvloop.txt $(STAMPS)/venv
	@PIP_CONSTRAINT= $(BIN)/pip install --no-deps --upgrade --target .venv/older-uvloop -r $<
	@touch $@

$(STAMPS)/real: $(STAMPS)/dev
	@echo "installing the real programs into .venv"
	@$(BIN)/pip install 'tinygram[real]'
	@touch $@

$(STAMPS)/cluster: $(STAMPS)/dev
	@echo "installing ray into .venv"
	@$(BIN)/pip install 'tinygram[cluster]'
	@touch $@
