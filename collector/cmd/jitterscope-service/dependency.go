package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net/http"

	"github.com/lib/pq"
)

// dependency is another server that requests call.
type dependency struct {
	database    string // postgres://…; empty: none
	query       string
	heavyQuery  string
	heavyEvery  int // one of every heavyEvery requests runs the heavy query; 0: none
	connections int // to the database or the other server
	url         string

	light, heavy *sql.Stmt
	client       http.Client
}

// open opens the connections.
func (d *dependency) open() error {
	if d.url != "" {
		d.client.Transport = &http.Transport{
			MaxConnsPerHost: d.connections, MaxIdleConnsPerHost: d.connections, DialContext: dialer{}.DialContext,
		}
	}
	if d.database == "" {
		return nil
	}
	connector, err := pq.NewConnector(d.database)
	if err != nil {
		return err
	}
	connector.Dialer(dialer{})
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(d.connections)
	pool.SetMaxIdleConns(d.connections)
	if d.light, err = pool.Prepare(d.query); err == nil && d.heavyEvery > 0 {
		d.heavy, err = pool.Prepare(d.heavyQuery)
	}
	return err
}

// ask calls the dependency for the request with this number.
func (d *dependency) ask(ctx context.Context, number int) error {
	if d.light == nil && d.url == "" {
		return nil
	}
	return errors.Join(d.askDatabase(ctx, number), d.askServer(ctx))
}

func (d *dependency) askDatabase(ctx context.Context, number int) error {
	statement := d.light
	if statement == nil {
		return nil
	}
	if d.heavyEvery > 0 && number%d.heavyEvery == 0 {
		statement = d.heavy
	}
	var answer string
	return statement.QueryRowContext(ctx).Scan(&answer)
}

func (d *dependency) askServer(ctx context.Context) error {
	if d.url == "" {
		return nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url, nil)
	if err != nil {
		return err
	}
	answer, err := d.client.Do(request)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return errors.Join(err, answer.Body.Close())
}
