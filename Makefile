# The two commands: `make run` shows Pando at work, `make test` proves it. `make help` lists the rest.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

TARGET := $(or $(CARGO_TARGET_DIR),target)
PANDO := $(TARGET)/release/pando
DEMO := demo
URL := ldap://127.0.0.1:3389
SUFFIX := dc=example,dc=com
PEOPLE := 100000
GROUPS := 10
MEMBERS := 10000
SECONDS_EACH := 60
PERCENT := 100
SEEDS := 0..10000
STEPS :=

.PHONY: help
help: ## List what can be made
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

.PHONY: build
build: ## Build the release binary
	cargo build --release --package pando

$(DEMO)/demo.ldif: crates/pando/data/organisation.ldif | build
	mkdir -p $(DEMO)
	$(PANDO) gen --template slamd --suffix $(SUFFIX) --count $(PEOPLE) --groups $(GROUPS) --members $(MEMBERS) \
	    --format ldif -o $(DEMO)/people.ldif
	{ cat $(DEMO)/people.ldif; echo; cat crates/pando/data/organisation.ldif; } > $(DEMO)/demo.ldif.new
	rm $(DEMO)/people.ldif
	mv $(DEMO)/demo.ldif.new $(DEMO)/demo.ldif

.PHONY: run
run: build $(DEMO)/demo.ldif ## Build, make a demo directory of 100,000 people, serve it on 127.0.0.1:3389
	@(umask 077 && printf 'secret\n' > $(DEMO)/root.password && chmod 600 $(DEMO)/root.password)
	@exec .ci/demo $(PANDO) $(DEMO) $(URL) $(SUFFIX)

.PHONY: test
test: ## Install what the tests need and run them all
	.ci/test

.PHONY: verify
verify: ## As test, without installing or black-box tests; writes nothing
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo xtask tidy
	cargo test --workspace --locked

.PHONY: deny
deny: ## Check licences, duplicates, sources and known faults of the crates of others
	.ci/deny

.PHONY: planted
planted: ## Build with injected faults, and see that the tests find each
	.ci/test planted

.PHONY: fix
fix: ## Format, apply what clippy suggests, lower the ratchets of sizes and words
	cargo fmt --all
	cargo clippy --workspace --all-targets --fix --allow-dirty --allow-staged
	cargo xtask tidy --fix

.PHONY: fuzz
fuzz: ## Fuzz every target for 60 s each (SECONDS_EACH=n); needs a C++ compiler
	.ci/fuzz $(SECONDS_EACH)

.PHONY: sim
sim: ## Simulate servers on disks that fail, and clusters, from 10,000 seeds each (SEEDS=FROM..TO)
	cargo run --profile quick --package pando-sim --locked -- --seeds $(SEEDS)
	cargo run --profile quick --package pando-sim --locked -- --seeds $(SEEDS) --faults cluster

.PHONY: soak
soak: build ## What takes longer than make test may (STEPS="flat log", PERCENT=10): see docs/testing.md
	PERCENT=$(PERCENT) .ci/soak $(PANDO) $(STEPS)

.PHONY: bench
bench: build ## Measure this machine's limit and the server against it
	PANDO=$(PANDO) .ci/bench

.PHONY: clean-demo
clean-demo: ## Remove the demo directory's data
	rm -rf $(DEMO)
