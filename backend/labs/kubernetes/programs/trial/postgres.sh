#!/bin/sh
# What the entry point of the image timescale/timescaledb does, as far as the chart needs it: a new database gets the
# superuser's password, and takes connections of others with a password only.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  chmod 700 "$PGDATA"
  printf %s "$POSTGRES_PASSWORD" > /tmp/password
  initdb --pgdata="$PGDATA" --username=postgres --pwfile=/tmp/password --auth-local=trust --auth-host=scram-sha-256 \
    --encoding=UTF8 --locale=C.UTF-8
  rm /tmp/password
  echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
fi
exec postgres -D "$PGDATA" -c "listen_addresses=*" -c unix_socket_directories=/tmp \
  -c shared_preload_libraries=timescaledb -c timescaledb.telemetry_level=off -c timescaledb.license=apache \
  -c max_worker_processes=24
