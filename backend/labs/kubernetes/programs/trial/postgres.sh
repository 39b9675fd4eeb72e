#!/bin/sh
# What the entry point of the image timescale/timescaledb does, as far as chart and Compose need it: as root it changes to
# the user postgres, a new database gets the superuser's password, and takes connections of others with a password only.
set -eu
sockets=/var/run/postgresql
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA" "$sockets"
  chown postgres "$PGDATA" "$sockets"
  exec setpriv --reuid=70 --regid=70 --clear-groups "$0"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  chmod 700 "$PGDATA"
  printf %s "$POSTGRES_PASSWORD" > /tmp/password
  initdb --pgdata="$PGDATA" --username=postgres --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256 \
    --encoding=UTF8 --locale=C.UTF-8
  rm /tmp/password
  echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
fi
[ -w "$sockets" ] || sockets=/tmp
exec postgres -D "$PGDATA" -c "listen_addresses=*" -c "unix_socket_directories=$sockets" \
  -c shared_preload_libraries=timescaledb -c timescaledb.telemetry_level=off -c timescaledb.license=apache \
  -c max_worker_processes=24
