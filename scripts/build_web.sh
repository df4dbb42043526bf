#!/bin/sh
# Builds the client for browsers: the module in WebAssembly, the JavaScript package in web/dist, and
# the page of the service in python/palladion/service/page.
#
# It needs cargo, node and npm. The target wasm32-unknown-unknown comes from rustup. Where rustup
# cannot have it, the compiler is taken from Debian's packages, unpacked under target/ and not
# installed; it compiles the standard library too, about 4 minutes the first time.
set -eu
cd "$(dirname "$0")/.."

TARGET=wasm32-unknown-unknown
MOST=400000 # bytes of the module, compressed by gzip
OUT=target/$TARGET/wasm
PAGE=python/palladion/service/page
# Versions of Debian bookworm.
DEBIAN=target/debian-rust
DEBIAN_RUST="rustc-web cargo-web libstd-rust-web-1.96 libstd-rust-web-dev rust-web-src"
DEBIAN_LIBRARIES="libllvm22 libgit2-1.5 libhttp-parser2.9 libmbedcrypto7 libmbedx509-1 libmbedtls14"

need() {
    command -v "$1" >/dev/null || { echo "$1 is missing: $2" >&2; exit 1; }
}

has_target() {
    library=$(rustc --print target-libdir --target $TARGET 2>/dev/null) && [ -d "$library" ]
}

# Compiles the module with the compiler of rustup, or of the system.
compile() {
    cargo build --locked --profile wasm --target $TARGET --package palladion-wasm
}

# The same with Debian's compiler.
compile_by_debian() {
    need apt-get "the target $TARGET is neither in rustup nor in Debian's packages here"
    need dpkg "it unpacks Debian's packages"
    if [ ! -e $DEBIAN/ready ]; then
        rm -rf $DEBIAN
        mkdir -p $DEBIAN/packages $DEBIAN/root
        # shellcheck disable=SC2086 # lists of names
        (cd $DEBIAN/packages && apt-get download $DEBIAN_RUST $DEBIAN_LIBRARIES)
        for package in $DEBIAN/packages/*.deb; do dpkg -x "$package" $DEBIAN/root; done
        rm -rf $DEBIAN/packages
        touch $DEBIAN/ready
    fi
    root=$PWD/$DEBIAN/root
    lld=$(find "$root" "$(rustc --print sysroot 2>/dev/null || echo "$root")" -name rust-lld -type f | head -1)
    [ -n "$lld" ] || { echo "rust-lld is missing: install Rust by rustup" >&2; exit 1; }
    CARGO_HOME=$PWD/$DEBIAN/cargo RUSTC="$root/usr/bin/rustc" RUSTC_BOOTSTRAP=1 \
        PATH="$root/usr/bin:$PATH" LD_LIBRARY_PATH="$root/usr/lib/x86_64-linux-gnu" \
        CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER="$lld" \
        "$root/usr/bin/cargo" build --locked --profile wasm --target $TARGET --package palladion-wasm \
        -Z build-std=std,panic_abort
}

need cargo "install Rust by https://rustup.rs"
need node "install Node.js 20 or later"
need npm "it comes with Node.js"

echo "Installing what builds the page: TypeScript, esbuild, wasm-opt."
npm --prefix web ci --ignore-scripts --no-audit --no-fund --silent

echo "Compiling the client to WebAssembly: some minutes the first time."
if has_target || { command -v rustup >/dev/null && rustup target add $TARGET && has_target; }; then
    compile
else
    compile_by_debian
fi
cargo build --locked --release --manifest-path web/bindgen/Cargo.toml --target-dir target/bindgen
rm -rf web/build web/dist
target/bindgen/release/palladion-bindgen $OUT/palladion_wasm.wasm web/build
# The features are those of the compiler's target.
web/node_modules/.bin/wasm-opt -O3 --strip-debug --strip-producers --enable-bulk-memory \
    --enable-mutable-globals --enable-multivalue --enable-nontrapping-float-to-int \
    --enable-reference-types --enable-sign-ext \
    web/build/palladion_bg.wasm -o web/build/palladion_bg.wasm

npm --prefix web run --silent build
rm -rf $PAGE
mkdir -p $PAGE
cp web/dist/page/* web/page/index.html web/page/page.css web/page/icon.svg web/build/palladion_bg.wasm $PAGE
rm -rf web/dist/page
cp web/build/palladion_bg.wasm web/dist

size=$(gzip -9 -c $PAGE/palladion_bg.wasm | wc -c)
echo "module: $(wc -c < $PAGE/palladion_bg.wasm) bytes, $size compressed by gzip; at most $MOST"
[ "$size" -le $MOST ] || { echo "the module is too large: find what it links in" >&2; exit 1; }
