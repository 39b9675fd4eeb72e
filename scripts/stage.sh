#!/usr/bin/env bash
# stage.sh NAME COMMAND…: runs the command, and says what it took of time and of CPU. .ci/run tells these lines again.
set -uo pipefail
name=$1
shift
TIMEFORMAT="stage $name: %0R s, CPU %0U s + %0S s in the kernel"
time "$@"
