#!/bin/sh
# Installs and starts the Jitterscope collector on a Linux machine:
#   curl -fsSL SERVER/api/v1/collectors/install.sh | sudo env JITTERSCOPE_SERVER=SERVER JITTERSCOPE_TOKEN=jsi_… sh
# With systemd it becomes a service; without, it runs in the background until the machine restarts. Running this again
# updates binary and token. JITTERSCOPE_PREFIX=DIR installs below DIR without systemd (for tests and a first look).
set -eu

fail() {
    echo "jitterscope: $1" >&2
    exit 1
}

[ -n "${JITTERSCOPE_SERVER:-}" ] || fail "JITTERSCOPE_SERVER is not set"
[ -n "${JITTERSCOPE_TOKEN:-}" ] || fail "JITTERSCOPE_TOKEN is not set"
[ "$(uname -s)" = Linux ] || fail "the collector runs on Linux only"
case "$(uname -m)" in
    x86_64) arch=amd64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "there is no collector for $(uname -m)" ;;
esac

prefix="${JITTERSCOPE_PREFIX:-}"
[ -n "$prefix" ] || [ "$(id -u)" -eq 0 ] || fail "run this as root (sudo), or set JITTERSCOPE_PREFIX"
binary="$prefix/usr/local/bin/jitterscope-collector"
token_file="$prefix/etc/jitterscope/collector.token"
spool="$prefix/var/lib/jitterscope-collector"

mkdir -p "$(dirname "$binary")" "$(dirname "$token_file")" "$spool"
chmod 700 "$(dirname "$token_file")" "$spool"
echo "jitterscope: downloading the collector ($arch)"
curl -fsS --retry 3 -o "$binary.new" "$JITTERSCOPE_SERVER/api/v1/collectors/download/$arch" ||
    fail "cannot download the collector from $JITTERSCOPE_SERVER"
chmod 755 "$binary.new"
mv "$binary.new" "$binary"
(umask 077 && printf '%s\n' "$JITTERSCOPE_TOKEN" >"$token_file")

if [ -z "$prefix" ] && [ -d /run/systemd/system ]; then
    cat >/etc/systemd/system/jitterscope-collector.service <<UNIT
[Unit]
Description=Jitterscope collector
After=network-online.target
Wants=network-online.target

[Service]
ExecStart=$binary run --server $JITTERSCOPE_SERVER --token-file $token_file --spool-dir $spool
Restart=always
RestartSec=2
MemoryMax=128M

[Install]
WantedBy=multi-user.target
UNIT
    systemctl daemon-reload
    systemctl enable --quiet jitterscope-collector
    systemctl restart jitterscope-collector
    echo "jitterscope: running; see journalctl -u jitterscope-collector"
else
    log="$spool/collector.log"
    setsid "$binary" run --server "$JITTERSCOPE_SERVER" --token-file "$token_file" --spool-dir "$spool" \
        >>"$log" 2>&1 </dev/null &
    echo $! >"$spool/collector.pid"
    sleep 1
    kill -0 "$(cat "$spool/collector.pid")" 2>/dev/null || fail "the collector ended at once; see $log"
    echo "jitterscope: running as process $(cat "$spool/collector.pid"); log in $log"
fi
