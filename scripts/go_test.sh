#!/bin/sh
# Go tests with a count at the end. With JITTERSCOPE_NO_SKIPS=1 a skipped test fails the run.
# Arguments: packages, all without. What failed is told last, and nothing else of what the tests print.
set -eu
cd "$(dirname "$0")/../collector"
events=$(mktemp)
trap 'rm -f "$events"' EXIT
status=0
go tool gotestsum --format pkgname --no-color --jsonfile-timing-events "$events" -- -count=1 -parallel 3 -timeout 20m "${@:-./...}" || status=$?
count() { grep -cE "\"Action\":\"$1\".*\"Test\":" "$events" || true; }
skipped=$(count skip)
[ "$skipped" -eq 0 ] || [ "${JITTERSCOPE_NO_SKIPS:-0}" != 1 ] || status=1
echo "go: $(count pass) passed, $(count fail) failed, $skipped skipped"
exit "$status"
