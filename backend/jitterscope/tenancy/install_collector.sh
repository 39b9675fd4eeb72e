#!/bin/sh
# Installs and starts the Jitterscope collector on a Linux machine:
#   curl -fsSL SERVER/api/v1/collectors/install.sh | sudo env JITTERSCOPE_SERVER=SERVER JITTERSCOPE_TOKEN=jsi_… sh
# With systemd it becomes a service; without, it runs in the background until the machine restarts. Running this again
# updates binary, unit, server, and token. JITTERSCOPE_PREFIX=DIR installs below DIR without systemd (for tests and a first look).
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
token_file="$prefix/etc/jitterscope/token"
spool="$prefix/var/lib/jitterscope-collector"

mkdir -p "$(dirname "$binary")" "$(dirname "$token_file")" "$spool"
chmod 700 "$(dirname "$token_file")" "$spool"
echo "jitterscope: downloading the collector ($arch)"
curl -fsS --retry 3 -o "$binary.new" "$JITTERSCOPE_SERVER/api/v1/collectors/download/$arch" ||
    fail "cannot download the collector from $JITTERSCOPE_SERVER"
chmod 755 "$binary.new"
mv "$binary.new" "$binary"
(umask 077 && printf '%s\n' "$JITTERSCOPE_TOKEN" >"$token_file")
rm -f "$prefix/etc/jitterscope/collector.token" # its place in earlier versions

if [ -z "$prefix" ] && [ -d /run/systemd/system ]; then
    units="$prefix/etc/systemd/system" config="$prefix/etc/jitterscope/collector.toml"
    mkdir -p "$units/jitterscope-collector.service.d"
    [ -e "$config" ] || echo "# Options of \`jitterscope-collector run -h\`, with _ for -" >"$config"
    # collector/systemd/jitterscope-collector.service, which the server puts here.
    cat >"$units/jitterscope-collector.service" <<'UNIT'
@UNIT@
UNIT
    # What systemd would replace or unquote in a value.
    server="$(printf '%s' "$JITTERSCOPE_SERVER" | sed 's/[\\"]/\\&/g; s/%/%%/g')"
    {
        printf '[Service]\nEnvironment="JITTERSCOPE_SERVER=%s"\n' "$server"
        # Credentials came with systemd 247: before, the service reads the token from its file.
        if [ "$(systemctl --version | awk 'NR == 1 { print int($2) }')" -lt 247 ]; then
            printf 'ExecStart=\nExecStart=%s run --config %s --token-file %s\n' "$binary" "$config" "$token_file"
        fi
    } >"$units/jitterscope-collector.service.d/installed.conf"
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
