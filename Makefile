# Everything a newcomer needs. What is missing is installed or fetched, and each target says what it cannot do.
#   make demo    a machine powers on and becomes a node, before your eyes
#   make test    all tests
#   make lint    formatting, clippy, licences and sources of dependencies, known vulnerabilities
#   make agent   the agent as it is put into images: one static program

CARGO ?= cargo
TOOLS := $(if $(XDG_CACHE_HOME),$(XDG_CACHE_HOME),$(HOME)/.cache)/dynk8s/tools
DENY := $(TOOLS)/bin/cargo-deny
DENY_VERSION := 0.20.2
ADVISORIES := https://github.com/RustSec/advisory-db

.PHONY: agent demo test lint prepare deny toolchain

demo: toolchain
	@$(CARGO) run --quiet --locked --package dynk8s-lab -- demo

test: prepare
	$(CARGO) test --locked --workspace

# All that the demo and the tests need from the network: Debian's packages, the programs of Kubernetes, the machine's image.
prepare: toolchain
	@$(CARGO) run --quiet --locked --package dynk8s-lab -- prepare

# The flag comes from the environment: in a configuration file it would break every build that names no target.
agent: toolchain
	RUSTFLAGS="-C target-feature=+crt-static" $(CARGO) build --locked --profile agent --package dynk8s-agent \
		--target $$(rustc --print host-tuple)

lint: toolchain deny
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings

deny: $(DENY)
	$(DENY) --locked --workspace check bans licenses sources
	@if git ls-remote --quiet $(ADVISORIES) HEAD >/dev/null 2>&1; \
	then $(DENY) --locked --workspace check advisories; \
	else echo "make lint: advisories are NOT checked, because $(ADVISORIES) cannot be reached from here"; fi

$(DENY):
	@echo "installing cargo-deny $(DENY_VERSION) into $(TOOLS): a few minutes, once"
	$(CARGO) install --quiet --locked --root $(TOOLS) --version $(DENY_VERSION) cargo-deny

toolchain:
	@command -v $(CARGO) >/dev/null || { echo "make: there is no Rust toolchain: see https://rustup.rs"; exit 1; }
	@command -v cc >/dev/null || { echo "make: there is no C compiler for linking: apt-get install gcc libc6-dev"; exit 1; }
