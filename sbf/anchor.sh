#!/usr/bin/env bash
# Anchor's own command line, from npm: `sbf/anchor.sh run NAME -- ARGS`. It needs a newer C library than Debian 12 has, so it
# starts through the one that build.sh unpacks (`build.sh --prepare`).
set -euo pipefail

home=${SBF_HOME:-/var/cache/sbf-toolchain}
version=1.0.1
anchor=$home/anchor-$version/package/anchor
libs=$home/llvm-23/usr/lib/x86_64-linux-gnu

if ! [ -x "$anchor" ]; then
  unpacked=$home/anchor-$version
  rm -rf "$unpacked.partial"
  mkdir -p "$unpacked.partial"
  npm pack --silent --pack-destination "$unpacked.partial" "@anchor-lang/cli@$version" >/dev/null
  tar -xzf "$unpacked.partial/anchor-lang-cli-$version.tgz" -C "$unpacked.partial"
  chmod +x "$unpacked.partial/package/anchor"
  rm -rf "$unpacked"
  mv "$unpacked.partial" "$unpacked"
fi
if [ -x "$libs/ld-linux-x86-64.so.2" ]; then
  exec "$libs/ld-linux-x86-64.so.2" --library-path "$libs" "$anchor" "$@"
fi
exec "$anchor" "$@"
