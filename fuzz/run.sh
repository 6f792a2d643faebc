#!/bin/sh
# Runs one fuzz target under libFuzzer without cargo-fuzz: fuzz/run.sh TARGET SECONDS
# New inputs go to a scratch folder; a crashing one is named at the end of the output.
set -eu
cd "$(dirname "$0")"
target=$1
seconds=$2
found=$(mktemp -d)
# What cargo-fuzz passes, without AddressSanitizer: the targets hold no unsafe code. The compiler on the machine is
# enough: RUSTC_BOOTSTRAP lets a stable one take -Z flags if no nightly is asked for.
export RUSTC_BOOTSTRAP=1
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Cdebug-assertions -Ccodegen-units=1"
triple=$(rustc -vV | sed -n 's/^host: //p')
cargo build --release --features libfuzzer --bin "$target" --target "$triple"
dir=${CARGO_TARGET_DIR:-target}
mkdir -p artifacts
exec "$dir/$triple/release/$target" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="artifacts/$target-" "$found" "corpus/$target"
