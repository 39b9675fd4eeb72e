#!/bin/sh
# System packages that `make test`, `make gen` and `make test-vm` use beyond Python, Go and Node. `make up` needs none.
# Installs them where we are root and apt is there; otherwise says what to install.
set -eu

packages="clang llvm libbpf-dev bpftool iproute2 debootstrap chromium-headless-shell qemu-system-x86 qemu-user-static busybox-static cpio \
dnsperf tcpdump tshark victoria-metrics systemd e2fsprogs default-jdk-headless binutils nginx ruby"

missing=""
for package in $packages; do
    dpkg -s "$package" >/dev/null 2>&1 || missing="$missing $package"
done
if [ -z "$missing" ]; then
    echo "All system packages are installed."
    exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "Install these for all tests (root needed):$missing" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
# One at a time: a package that this distribution lacks must not keep the others away.
for package in $missing; do
    apt-get install -q -y --no-install-recommends "$package" || echo "not available here: $package" >&2
done
