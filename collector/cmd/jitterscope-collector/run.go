package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/agent"
	"github.com/jitterscope/jitterscope/collector/internal/pipeline"
	"github.com/jitterscope/jitterscope/collector/internal/settings"
	"github.com/jitterscope/jitterscope/collector/internal/ship"
	"github.com/jitterscope/jitterscope/collector/internal/spool"
	"github.com/jitterscope/jitterscope/collector/internal/switches"
	"github.com/jitterscope/jitterscope/collector/internal/telemetry"
)

// flushTime is how long sending the last batches may take when the collector stops; the rest stays in the spool.
const flushTime = 3 * time.Second

// errAnew reports that the collector stopped in order to restart with other sources.
var errAnew = errors.New("the organization changed what is read")

// runCommand runs until ctx ends, or returns errAnew.
func runCommand(outer context.Context, arguments []string, stderr io.Writer) error {
	ctx, stop := context.WithCancelCause(outer)
	defer stop(nil)
	s, err := settings.Parse("run", arguments, os.LookupEnv, stderr, nil)
	if err != nil {
		return err
	}
	log, err := newLogger(s, stderr)
	if err != nil {
		return err
	}
	enterNodeCgroupNamespace(s.ProcRoot, log)
	config, err := shipConfig(s, log)
	if err != nil {
		return err
	}
	spooled, err := spool.Open(s.SpoolDir, s.SpoolMaxBytes, log)
	if err != nil {
		return err
	}
	defer func() { _ = spooled.Close() }()
	organization := switches.Open(s.SpoolDir, func() { stop(errAnew) }, log)
	s.SwitchOff(organization.Off())
	config.Heard = organization.Heard
	sink, err := pipeline.Compress(spooled.Put)
	if err != nil {
		return err
	}
	durable := func(sequence uint64, data []byte) error {
		if err := sink(sequence, data); err != nil {
			return err
		}
		// It is already being sent. The mapped file, the other copy, is released only after this.
		return spooled.Sync(sequence)
	}
	place := agent.Place{
		Directory: s.SpoolDir, SpoolID: spooled.ID(), NextSequence: spooled.Last() + 1,
		// Rejected batches are lost to the backend as well.
		Dropped: func() uint64 { counts := spooled.Counts(); return counts.Dropped + counts.Quarantined },
	}
	collector, err := agent.New(s, version, place, durable, log)
	if err != nil {
		return err
	}
	shipper := ship.New(config, spooled)
	page := telemetry.New(version, collector.Engine, collector.Store, collector.Sealer, spooled, shipper)
	if s.MetricsListen != "" {
		address, err := page.Serve(ctx, s.MetricsListen)
		if err != nil {
			return fmt.Errorf("--metrics-listen: %w", err)
		}
		log.Info("own metrics", "url", "http://"+address+"/metrics")
	}
	log.Info("collector started", "version", version, "server", s.Server, "spool", s.SpoolDir, "switched_off", organization.Off())

	var wait sync.WaitGroup
	wait.Go(func() { shipper.Run(ctx) })
	wait.Go(func() { resendFacts(ctx, spooled, collector) })
	wait.Go(func() { reportSpool(ctx, page, collector, log) })
	err = collector.Run(ctx)
	wait.Wait()
	flush, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	shipper.Flush(flush)
	log.Info("collector stopped", "spooled_batches", spooled.Counts().Batches)
	if err == nil && outer.Err() == nil && errors.Is(context.Cause(ctx), errAnew) {
		return errAnew
	}
	return err
}

// resendFacts sends all facts again after batches were lost, because the lost ones might have contained some.
func resendFacts(ctx context.Context, spooled *spool.Spool, collector *agent.Agent) {
	const every = 10 * time.Second
	seen := spooled.Counts().ResendNeeded
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if now := spooled.Counts().ResendNeeded; now != seen {
				seen = now
				collector.Engine.ResendFacts()
			}
		}
	}
}

// reportSpool reports to the backend, which shows it on the collectors page, when the disk is full or batches are
// rejected.
func reportSpool(ctx context.Context, page *telemetry.Page, collector *agent.Agent, log *slog.Logger) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	told := ""
	for {
		trouble := page.Trouble()
		switch {
		case trouble != "" && told == "":
			log.Error("not ready", "trouble", trouble)
		case trouble == "" && told != "":
			log.Info("ready again")
		}
		told = trouble
		collector.Engine.Report("spool", trouble, "free space on the disk of --spool-dir; a correct clock (NTP)")
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func shipConfig(s *settings.Settings, log *slog.Logger) (ship.Config, error) {
	base, err := url.Parse(s.Server)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return ship.Config{}, fmt.Errorf("--server: %q is not an http:// or https:// address", s.Server)
	}
	if s.Token == "" && s.TokenFile == "" {
		return ship.Config{}, errors.New("an ingest token is needed: --token-file FILE, or JITTERSCOPE_TOKEN; create one in the UI under \"Add a collector\"")
	}
	token := func() (string, error) {
		if s.TokenFile == "" {
			return s.Token, nil
		}
		text, err := os.ReadFile(s.TokenFile)
		if err != nil {
			return "", fmt.Errorf("--token-file: %w", err)
		}
		return strings.TrimSpace(string(text)), nil
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, MaxIdleConns: 2, MaxIdleConnsPerHost: 2, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second, ForceAttemptHTTP2: false, WriteBufferSize: 32 << 10,
	}
	if s.CAFile != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		pem, err := os.ReadFile(s.CAFile)
		if err != nil {
			return ship.Config{}, fmt.Errorf("--ca-file: %w", err)
		}
		if !pool.AppendCertsFromPEM(pem) {
			return ship.Config{}, fmt.Errorf("--ca-file: %s has no PEM certificate", s.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return ship.Config{
		URL: base.JoinPath("api/v1/ingest").String(), Token: token, Version: version, Log: log,
		Client: &http.Client{
			Transport: transport,
			// Following a redirect would send the token elsewhere; a redirect means that --server is wrong.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}
