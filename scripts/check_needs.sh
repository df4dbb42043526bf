#!/bin/sh
# Says what is missing before anything is built: git, a C compiler, Rust, Python.
# Usage: check_needs.sh PYTHON

python=${1:-python3}
rust_needed=89   # 1.89: AVX-512 intrinsics
missing=0

need() {
    echo "missing: $1" >&2
    echo "         $2" >&2
    missing=1
}

command -v git >/dev/null 2>&1 || need "git" "install it with your system's packages"

command -v cc >/dev/null 2>&1 || command -v gcc >/dev/null 2>&1 || command -v clang >/dev/null 2>&1 ||
    need "a C compiler" "install gcc or clang, for example: apt install build-essential"

if ! command -v cargo >/dev/null 2>&1; then
    need "Rust >= 1.$rust_needed" "install it from https://rustup.rs"
else
    found=$(rustc --version | sed -E 's/^rustc ([0-9]+)\.([0-9]+).*/\1 \2/')
    major=${found% *} minor=${found#* }
    if [ "$major" -eq 1 ] && [ "$minor" -lt "$rust_needed" ]; then
        need "Rust >= 1.$rust_needed, found $major.$minor" "rustup update"
    fi
fi

if ! command -v "$python" >/dev/null 2>&1; then
    need "Python >= 3.10" "install it, or name it: make PYTHON=/path/to/python3"
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    need "Python >= 3.10, found $("$python" --version 2>&1)" "name another: make PYTHON=/path/to/python3"
elif ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
    need "Python's venv module" "for example: apt install python3-venv"
fi

exit $missing
