#!/usr/bin/env bash
# Builds the audit of a page to WebAssembly from package registries alone. Debian on x86-64, as root (or with $SBF_HOME writable
# and the packages of step 1 installed).
#
#   build.sh OUT_DIR      # writes OUT_DIR/purser_page.wasm and purser_page.wasm.json: the hash, and the tools that made it
#
# Debian's rustc builds std from Debian's sources, as for the program on chain (sbf/build.sh), whose folder this shares: rustc
# hashes the paths that it compiles, so the same source gives the same bytes only under the same $SBF_HOME.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
home=${SBF_HOME:-/var/cache/sbf-toolchain}
linker=wasm-ld-19

die() {
  echo "audit/page/build.sh: $*" >&2
  exit 1
}

[ $# -eq 1 ] || die "usage: build.sh OUT_DIR"
[ "$(uname -sm)" = "Linux x86_64" ] || die "runs on Linux x86-64 only"
command -v apt-get >/dev/null || die "takes its compiler from Debian packages and found no apt-get"
mkdir -p "$home" 2>/dev/null && [ -w "$home" ] || die "cannot write $home: run as root, or create it for this user first"
mkdir -p "$1"
out_dir=$(cd "$1" && pwd)

# One build at a time: $home/page-src points at one checkout.
exec 9>"$home/page.lock"
flock 9

# 1. rustc, cargo and the std sources, one version for all three; and the linker.
library=/usr/lib/rustlib/src/rust/library
if ! [ -x /usr/bin/rustc ] || ! [ -x /usr/bin/cargo ] || ! [ -f $library/std/Cargo.toml ] || ! [ -x /usr/bin/$linker ]; then
  apt-get update -qq >&2
  apt-get install -y -qq --no-install-recommends rustc-web cargo-web rust-web-src lld-19 >&2
fi
version_of() {
  dpkg-query -W -f '${Package} ${Version}' "$(dpkg-query -S "$(readlink -f "$1")" | cut -d: -f1)"
}
rustc=$(version_of /usr/bin/rustc)
lld=$(version_of /usr/bin/$linker)

# 2. The module, reached through a path that is the same for every checkout.
workspace=$(dirname "$(cd "$here" && /usr/bin/cargo locate-project --workspace --message-format plain)")
ln -sfn "$workspace" "$home/page-src"
manifest=$home/page-src${here#"$workspace"}/Cargo.toml
rustflags=(
  -Zunstable-options -Cpanic=immediate-abort # a panic ends the tab's audit; nobody reads what it would say
  -Zlocation-detail=none
  '--cfg=getrandom_backend="unsupported"' # nothing here is random
  --remap-path-prefix="$home/page-src"=src
  --remap-path-prefix="$(readlink -f $library)"=std
  --remap-path-prefix="${CARGO_HOME:-$HOME/.cargo}"=cargo
)
# What another checkout built last must not pass for this one's: cargo tells them apart by file times alone.
for package in $(/usr/bin/cargo metadata --no-deps --format-version 1 --manifest-path "$manifest" |
  grep -oP '"name":"\K[^"]+(?=","version")'); do
  rm -rf "$home"/target-page/*/release/.fingerprint/"$package"-????????????????
done
# A crate of others' is a library of its own kind too, which rustc links by this name, and which nobody uses.
mkdir -p "$home/page-bin"
ln -sfn /usr/bin/lld-19 "$home/page-bin/rust-lld"
cd "$home" # away from the checkout's own .cargo/config.toml and rust-toolchain.toml
env -u RUSTFLAGS PATH="$home/page-bin:$PATH" RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 __CARGO_TESTS_ONLY_SRC_ROOT=$library \
  CARGO_TARGET_DIR="$home/target-page" CARGO_PROFILE_RELEASE_LTO=fat \
  CARGO_PROFILE_RELEASE_OPT_LEVEL=s CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1 \
  CARGO_ENCODED_RUSTFLAGS="$(printf '%s\x1f' "${rustflags[@]}" | sed 's/\x1f$//')" \
  /usr/bin/cargo rustc --release --locked --lib --crate-type staticlib --manifest-path "$manifest" \
  --target wasm32-unknown-unknown -Zbuild-std=std,panic_abort >&2 || die "the module did not compile"
wasm=$out_dir/purser_page.wasm
# Linked here, so that nothing is exported, and so kept, that only a dependency exports.
exports=(reserve output keep begin answer step)
/usr/bin/$linker --no-entry --gc-sections --strip-all --stack-first -z stack-size=1048576 --fatal-warnings \
  "${exports[@]/#/--export=}" "$home/target-page/wasm32-unknown-unknown/release/libpurser_page.a" -o "$wasm"
sha256=$(sha256sum <"$wasm" | cut -d' ' -f1)

# 3. What it was made of, for `cargo xtask check`: crates of others by version, and each file of this workspace that cargo names, with
# the hash of its code, as xtask/src/page.rs takes it.
crates() {
  /usr/bin/cargo tree --locked --manifest-path "$manifest" --target wasm32-unknown-unknown --edges normal,build --prefix none |
    grep -v ' (/' | awk '{ print $1, substr($2, 2) }' | LC_ALL=C sort -u
}
sources() {
  { tr ' ' '\n' <"$home/target-page/wasm32-unknown-unknown/release/libpurser_page.d" | sed -n "s|^$home/page-src/||p"; printf '%s\n' "${here#"$workspace"/}/build.sh"; } |
    sed '/\.md$/d; p; s|/src/.*|/Cargo.toml|' | LC_ALL=C sort -u
}
code_hash() {
  awk '/^mod tests \{$/ { exit } !/^[ \t]*\/\// { print }' "$workspace/$1" | sha256sum | cut -d' ' -f1
}
{
  printf '{\n  "sha256": "%s",\n  "rustc": "%s",\n  "linker": "%s",\n  "crates": [\n' "$sha256" "$rustc" "$lld"
  crates | sed 's/.*/    "&",/; $ s/,$//'
  printf '  ],\n  "sources": {\n'
  for file in $(sources); do printf '    "%s": "%s",\n' "$file" "$(code_hash "$file")"; done | sed '$ s/,$//'
  printf '  }\n}\n'
} >"$wasm.json"
echo "$wasm  $(stat -c %s "$wasm") bytes, sha256 $sha256"
