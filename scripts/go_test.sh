#!/bin/sh
# Go tests with a count at the end. With JITTERSCOPE_NO_SKIPS=1 a skipped test fails the run.
set -eu
cd "$(dirname "$0")/../collector"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
go test -count=1 -v "$@" ./... >"$log" 2>&1 || status=$?
count() { grep -cE "^ *--- $1:" "$log" || true; }
[ "$status" -eq 0 ] || { grep -vE '^ *(=== |--- (PASS|SKIP)|PASS$|ok |\? )' "$log" | tail -n 200; }
skipped=$(count SKIP)
if [ "$skipped" -ne 0 ]; then
    grep -E -A 1 '^ *--- SKIP' "$log"
    [ "${JITTERSCOPE_NO_SKIPS:-0}" != 1 ] || status=1
fi
echo "go: $(count PASS) passed, $(count FAIL) failed, $skipped skipped"
exit "$status"
