# make build   the command .venv/bin/palladion
# make demo    classify a real handwritten digit while it is encrypted
# make serve-demo   a service on this machine, and its clients: Python, command, HTTP, browser
# make test        tests of Rust and Python, without those of real size
# make test-long   the others
# make test-all    all tests
# make lint    formatting, lints, types, layers
# make test-hardware   tests of hardware/, in an environment of its own
# make wheel   a wheel that other machines take, and the source distribution, in wheels/
# make web     the client for browsers, and the page of the service; make test-web tests both
# make bench, make bench-peers    our figures; ours beside other libraries'

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
MATURIN := maturin>=1.9.4,<2
LINUX := $(filter Linux,$(shell uname))
LINUX_TOOLS := "auditwheel>=6.8,<7" "ziglang>=0.17,<0.18"

SOURCES := Cargo.toml pyproject.toml \
	$(shell find crates -name target -prune -o \( -name '*.rs' -o -name '*.toml' -o -path '*/emit/source/*' \) -print) \
	$(shell find python -name __pycache__ -prune -o -type f -print)

# MUSL=x86_64-unknown-linux-musl makes a wheel for Alpine and its like; rustup has to have the target.
MUSL ?=
ON_LINUX := --zig $(if $(MUSL),--target $(MUSL) --compatibility musllinux_1_2,--compatibility manylinux2014)

.PHONY: serve-demo build demo test test-long test-all test-rust test-python test-hardware web test-web lint lint-rust lint-python wheel bench bench-peers clean
.DELETE_ON_ERROR:

build: $(VENV)/built

demo: build
	$(BIN)/palladion demo

serve-demo: $(if $(shell command -v node),web)
	$(MAKE) --no-print-directory $(VENV)/dev
	$(BIN)/python examples/service.py

# The door to the crates is checked with all that it opens, and the blocks of docs/rust.md with it.
CRATES := --workspace --locked --features palladion/full

PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --durations 30

test: test-rust
	@echo "Tests of Python: about 5 minutes on 2 cores."
	$(MAKE) --no-print-directory test-python

test-all: test-rust test-python test-long

test-rust:
	@echo "Compiling and running the tests of Rust: some minutes the first time."
	cargo test $(CRATES) --tests
	cargo test $(CRATES) --doc
	cargo check --locked --quiet --manifest-path tests/outside/Cargo.toml

test-python: $(VENV)/dev
	$(PYTEST) -m "not long"

# A package of its own: what it needs stays out of .venv.
test-hardware:
	"$(PYTHON)" -m venv hardware/.venv
	hardware/.venv/bin/python -m pip --disable-pip-version-check --quiet install -e "hardware[dev]"
	hardware/.venv/bin/python -m pytest hardware/tests

# What is of real size or exhaustive: it trains, compiles for XLA, or makes the tables of papers.
test-long: $(VENV)/dev
	$(PYTEST) -m long

# The module, the package and the page. It needs Node.js, which nothing else does.
web:
	sh scripts/build_web.sh

# It runs the page in a Chromium: Debian's chromium-headless-shell, or PALLADION_BROWSER.
test-web: build web
	npm --prefix web test

# Side by side: mypy uses one core alone.
lint: $(VENV)/dev
	$(MAKE) --no-print-directory -j2 lint-rust lint-python

lint-rust:
	cargo fmt --all --check
	cargo clippy $(CRATES) --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc $(CRATES) --no-deps --quiet

lint-python: $(VENV)/dev
	$(BIN)/python scripts/check_layers.py
	$(BIN)/python scripts/check_crates.py
	$(BIN)/python scripts/structure.py --check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/stubtest palladion._native --allowlist scripts/stubtest.txt --ignore-unused-allowlist

wheel: wheels/built

bench: build
	cargo run --release --locked -p palladion-kernels --example backends
	bench/run

bench-peers: build
	bench/run --peers

clean:
	cargo clean
	rm -rf $(VENV) dist wheels

$(VENV)/python-ready:
	@sh scripts/check_needs.sh "$(PYTHON)"
	@echo "Making $(VENV), in which everything is installed."
	"$(PYTHON)" -m venv $(VENV)
	$(PIP) install "$(MATURIN)"
	@touch $@

$(VENV)/built: $(VENV)/python-ready $(SOURCES)
	@sh scripts/check_needs.sh "$(PYTHON)"
	rm -rf dist
	@echo "Compiling the core in Rust: about 9 minutes on 2 cores the first time."
	$(BIN)/maturin build --release --locked --quiet --out dist --interpreter $(BIN)/python
	@echo "Installing the package and the libraries that it needs."
	$(PIP) install "$$(echo dist/palladion-*.whl)[onnx]"
	$(PIP) install --force-reinstall --no-deps dist/palladion-*.whl
	@touch $@

# What lints and tests need besides the module. It can be installed while the module is compiled.
$(VENV)/tools: $(VENV)/python-ready pyproject.toml scripts/dev_requirements.py
	$(BIN)/python scripts/dev_requirements.py > $(VENV)/requirements.txt
	$(PIP) install --requirement $(VENV)/requirements.txt
	@touch $@

$(VENV)/dev: $(VENV)/built $(VENV)/tools
	@touch $@

$(VENV)/wheel-ready: $(VENV)/python-ready
	$(if $(LINUX),$(PIP) install $(LINUX_TOOLS))
	@touch $@

# Zig links for the glibc of 2014 whatever this machine has; elsewhere the system's linker does. The
# wheel is built from the source distribution, so a file that is missing there is an error here. It
# is built from nothing: files in it have one date for ever, by which Cargo would take an edited one
# for the one that it knows. No flag of this machine's may enter: kernels are chosen when they run.
# COMMIT tells those who build the source distribution which commit it is.
wheels/built: $(VENV)/wheel-ready $(SOURCES) Cargo.lock LICENSE README.md
	rm -rf wheels target/wheel
	@commit=$$(git rev-parse --short=12 HEAD 2>/dev/null) || commit=unknown; \
		[ $$commit = unknown ] || git diff --quiet HEAD || commit=$$commit+changes; \
		echo "$${PALLADION_COMMIT:-$$commit}" > COMMIT
	PATH="$(CURDIR)/$(BIN):$$PATH" RUSTFLAGS="$(if $(MUSL),-C target-feature=-crt-static)" CARGO_TERM_QUIET=true CARGO_TARGET_DIR=target/wheel \
		$(BIN)/maturin build --release --locked --quiet --sdist --out wheels --interpreter $(BIN)/python \
		$(if $(LINUX),$(ON_LINUX),--compatibility pypi)
	rm -rf target/wheel COMMIT
	@touch $@
