#!/bin/sh
# The git hook of `make hooks`: what takes seconds. `make lint` has the rest.
cd "$(git rev-parse --show-toplevel)" && exec make --no-print-directory lint-style lint-size
