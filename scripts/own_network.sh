#!/usr/bin/env bash
# own_network.sh COMMAND…: runs it in a network namespace with nothing but loopback. A browser repeats its requests when a
# network comes or goes, and labs that run beside it make networks. Without root it runs where we are.
set -euo pipefail
unshare --net true 2>/dev/null || exec "$@"
exec unshare --net sh -c 'ip link set lo up && exec "$@"' own_network "$@"
