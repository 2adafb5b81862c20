# Everything a newcomer needs. What is missing is installed or fetched, and each target says what it cannot do.
#   make demo    a machine powers on and becomes a node, before your eyes
#   make test    all tests
#   make test-machine    machines from power on to node, in all the ways that we know; `make test` has the first of them
#   make boot-time    where the time from power on to a Ready node goes
#   make lint    formatting, clippy, licences and sources of dependencies, known vulnerabilities
#   make terraform    the AWS side: format, tests, policy scan
#   make terraform-validate   its resources against the AWS provider, whose registry must be within reach
#   make agent   the agent as it is put into images: one static program
#   make rpm     the package with the agent, for Fedora and its kin; TARGET=aarch64 builds for Graviton
#   make aarch64        builds it for Graviton in a Debian, wherever this is, and runs the agent under qemu; a few minutes
#   make provisioner    the provisioner as it is put into its image: one static program
#   make image   its container image, an OCI layout, and an SBOM beside it; TARGET as above
#   make reproducible   builds package and image twice and compares; many minutes

CARGO ?= cargo
TOOLS := $(if $(XDG_CACHE_HOME),$(XDG_CACHE_HOME),$(HOME)/.cache)/dynk8s/tools
TOFU := $(TOOLS)/bin/tofu
TOFU_VERSION := 1.12.6
CHECKOV := $(TOOLS)/python-terraform/bin/checkov
CHECKOV_VERSION := 3.3.30
DENY := $(TOOLS)/bin/cargo-deny
DENY_VERSION := 0.20.2
UMOCI := $(TOOLS)/bin/umoci
UMOCI_VERSION := 0.6.0
CYCLONEDX := $(TOOLS)/bin/cargo-cyclonedx
CYCLONEDX_VERSION := 0.5.9
ADVISORIES := https://github.com/RustSec/advisory-db

# The architecture that `agent`, `rpm`, `provisioner` and `image` are for: x86_64 or aarch64.
TARGET ?= $(shell uname -m)
TRIPLE = $(TARGET)-unknown-linux-gnu
CROSS = $(filter-out $(shell uname -m),$(TARGET))
BUILD = $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)
AGENT = $(BUILD)/$(TRIPLE)/agent/dynk8s-agent
PROVISIONER = $(BUILD)/$(TRIPLE)/release/dynk8s-provisioner
LICENCES = $(BUILD)/rpm/LICENSE.$(TARGET)
PACKAGE = $(BUILD)/rpm/dynk8s-agent-$(VERSION)-1.$(TARGET).rpm
# The time that is built in is the commit's, and the paths are nobody's: whoever builds the same commit gets the same bytes.
# Compilers of C hear of the time too, and their work would be done again with each commit: so only we are told.
unexport SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH := $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null || date +%s))
VERSION = $(shell sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
# What the package puts at /etc/dynk8s/agent.toml: another file than ours makes a package that knows its provisioner.
CONFIGURATION = $(CURDIR)/packaging/etc/agent.toml
RPM_DEFINITIONS = workspace=$(CURDIR) workspace_version=$(VERSION) agent=$(AGENT) licences=$(LICENCES) \
	configuration=$(abspath $(CONFIGURATION)) $(CROSS:%=run=qemu-%) \
	_topdir=$(BUILD)/rpm _rpmdir=$(BUILD)/rpm _build_name_fmt=%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm
IMAGE = $(BUILD)/image/dynk8s-provisioner-$(VERSION).$(TARGET)
IMAGE_LICENCES = $(BUILD)/image/LICENSE.$(TARGET)
# The authorities that the provisioner believes AWS by: Mozilla's, of one release for everybody. Another file may be named.
ROOTS = $(TOOLS)/roots-$(shell sha256sum < packaging/container/roots.txt | head -c 12)/certifi/cacert.pem
REVISION = $(shell git describe --always --abbrev=40 --dirty --exclude='*' 2>/dev/null)
REMAPPED = $(CURDIR)=/dynk8s $(BUILD)=/build $(or $(CARGO_HOME),$(HOME)/.cargo)=/cargo \
	$(shell rustc --print sysroot)/lib/rustlib/src/rust=/rustc/$(shell rustc --version --verbose | sed -n 's/^commit-hash: //p')

.PHONY: aarch64 agent boot-time demo image test test-machine lint prepare deny provisioner reproducible rpm terraform terraform-validate toolchain

demo: toolchain
	@$(CARGO) run --quiet --locked --package dynk8s-lab -- demo

test: prepare
	$(CARGO) test --locked --workspace

boot-time: prepare
	@$(CARGO) run --quiet --locked --package dynk8s-lab -- boot-time

test-machine: prepare
	$(CARGO) test --locked --workspace --test boot --test boot_more

# All that the demo and the tests need from the network: Debian's packages, the programs of Kubernetes, the machine's image.
prepare: toolchain
	@$(CARGO) run --quiet --locked --package dynk8s-lab -- prepare

# $(call build,PROFILE,PACKAGE): a static program. The flag comes from the environment: in a configuration file it would break every
# build that names no target.
define build
@[ -d "$$(rustc --print target-libdir --target $(TRIPLE))" ] || \
	{ echo "make: Rust has no standard library for $(TRIPLE): rustup target add $(TRIPLE)"; exit 1; }
@DYNK8S_BUILT=$(SOURCE_DATE_EPOCH) RUSTFLAGS="-C target-feature=+crt-static $(REMAPPED:%=--remap-path-prefix=%)" \
	$(CARGO) build --locked --profile $1 --package $2 --target $(TRIPLE) \
	$(CROSS:%=--config 'target.$(TRIPLE).linker="%-linux-gnu-gcc"') $(CARGO_OPTIONS)
endef

agent: toolchain
	$(call build,agent,dynk8s-agent)

provisioner: toolchain
	$(call build,release,dynk8s-provisioner)

rpm: agent $(LICENCES)
	@command -v rpmbuild >/dev/null || { echo "make: there is no rpmbuild: dnf install rpm-build, or apt-get install rpm"; exit 1; }
	@SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) rpmbuild -bb --quiet --target $(TARGET)-linux $(foreach it,$(RPM_DEFINITIONS),--define '$(subst =, ,$(it))') \
		packaging/rpm/dynk8s-agent.spec
	@echo $(PACKAGE)

# Nothing is run in it, so it is only put together: that needs no daemon, no root and no emulator.
image: provisioner $(IMAGE_LICENCES) $(ROOTS) $(UMOCI) $(CYCLONEDX)
	@PATH=$(TOOLS)/bin:$$PATH SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) packaging/container/sbom dynk8s-provisioner $(TRIPLE) > $(IMAGE).cdx.json
	@PATH=$(TOOLS)/bin:$$PATH SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) VERSION=$(VERSION) REVISION=$(REVISION) \
		packaging/container/image $(IMAGE) $(TARGET) $(PROVISIONER) $(IMAGE_LICENCES) $(ROOTS)
	@echo $(IMAGE)

# Builds the package for aarch64 in a Debian that can, and runs what is in it under qemu.
aarch64: toolchain
	$(CARGO) test --locked --package dynk8s-lab --test aarch64

# Builds the commit a second time, in a folder and with a cache of Cargo's of other names, and compares what comes out.
reproducible: rpm image
	@git diff --quiet HEAD || { echo "make: commit your changes first: only a commit can be built twice"; exit 1; }
	@set -e; folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
	git clone --quiet . "$$folder/another/place"; \
	mkdir "$$folder/cargo"; ln -s $(or $(CARGO_HOME),$(HOME)/.cargo)/registry "$$folder/cargo/registry"; \
	env -u CARGO_TARGET_DIR CARGO_HOME="$$folder/cargo" \
		$(MAKE) --no-print-directory --directory "$$folder/another/place" rpm image TARGET=$(TARGET) SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH); \
	again="$$folder/another/place/target"; \
	sha256sum $(PACKAGE) $(IMAGE)/index.json; \
	cmp $(PACKAGE) "$$again/rpm/$(notdir $(PACKAGE))"; \
	diff --recursive $(IMAGE) "$$again/image/$(notdir $(IMAGE))"; \
	cmp $(IMAGE).cdx.json "$$again/image/$(notdir $(IMAGE)).cdx.json"; \
	echo "the packages and the images are the same"

$(LICENCES): Cargo.lock packaging/rpm/licences
	@mkdir -p $(@D)
	@packaging/rpm/licences dynk8s-agent $(TRIPLE) > $@.part
	@mv $@.part $@

$(IMAGE_LICENCES): Cargo.lock packaging/rpm/licences
	@mkdir -p $(@D)
	@packaging/rpm/licences dynk8s-provisioner $(TRIPLE) > $@.part
	@mv $@.part $@

$(ROOTS): packaging/container/roots.txt
	@python3 -m venv $(TOOLS)/python-roots || { echo "make: there is no Python with venv: apt-get install python3-venv"; exit 1; }
	@$(TOOLS)/python-roots/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes --target $(@:/certifi/cacert.pem=) \
		--requirement packaging/container/roots.txt

$(UMOCI):
	@command -v go >/dev/null || { echo "make: there is no Go to build umoci with: see https://go.dev"; exit 1; }
	@echo "building umoci $(UMOCI_VERSION) into $(TOOLS): a minute, once"
	@go mod download github.com/opencontainers/umoci@v$(UMOCI_VERSION)
	@CGO_ENABLED=0 go build -C $$(go env GOMODCACHE)/github.com/opencontainers/umoci@v$(UMOCI_VERSION) -mod=readonly -trimpath \
		-ldflags "-s -w" -o $(UMOCI) ./cmd/umoci

$(CYCLONEDX):
	@echo "installing cargo-cyclonedx $(CYCLONEDX_VERSION) into $(TOOLS): a few minutes, once"
	@$(CARGO) install --quiet --locked --root $(TOOLS) --version $(CYCLONEDX_VERSION) cargo-cyclonedx

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

# The modules that decide need no provider. The rest does: see terraform-validate.
terraform: $(TOFU) $(CHECKOV)
	$(TOFU) fmt -check -recursive terraform
	for module in terraform/modules/*; do $(TOFU) -chdir=$$module init -input=false >/dev/null && $(TOFU) -chdir=$$module test || exit 1; done
	$(CHECKOV) --directory terraform --framework terraform --quiet --compact --skip-download

terraform-validate: $(TOFU)
	$(TOFU) -chdir=terraform init -backend=false -input=false
	$(TOFU) -chdir=terraform validate

$(TOFU):
	@command -v go >/dev/null || { echo "make: there is no Go to build OpenTofu with: see https://go.dev"; exit 1; }
	@echo "building OpenTofu $(TOFU_VERSION) into $(TOOLS): about 15 minutes on two busy cores, once"
	go mod download github.com/opentofu/opentofu@v$(TOFU_VERSION)
	CGO_ENABLED=0 go build -C $$(go env GOMODCACHE)/github.com/opentofu/opentofu@v$(TOFU_VERSION) -mod=readonly -trimpath \
		-ldflags "-s -w" -o $(TOFU) ./cmd/tofu

$(CHECKOV):
	@echo "installing checkov $(CHECKOV_VERSION) into $(TOOLS): a minute or two, once"
	python3 -m venv $(TOOLS)/python-terraform
	$(TOOLS)/python-terraform/bin/pip install --quiet checkov==$(CHECKOV_VERSION)

toolchain:
	@command -v $(CARGO) >/dev/null || { echo "make: there is no Rust toolchain: see https://rustup.rs"; exit 1; }
	@command -v cc >/dev/null || { echo "make: there is no C compiler for linking: apt-get install gcc libc6-dev"; exit 1; }
