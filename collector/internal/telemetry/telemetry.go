// Package telemetry serves the collector's own /metrics (Prometheus text format), /healthz and /readyz.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/pipeline"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/ship"
	"github.com/jitterscope/jitterscope/collector/internal/spool"
)

// Page is the three endpoints. It is written by hand, because a client library would cost more memory than all of the
// collector's own state, and everything here is only a number.
type Page struct {
	version string
	engine  *sampler.Engine
	store   *batch.Store
	sealer  *pipeline.Sealer
	spool   *spool.Spool
	shipper *ship.Shipper
	started time.Time
}

// New creates a Page.
func New(version string, engine *sampler.Engine, store *batch.Store, sealer *pipeline.Sealer, spooled *spool.Spool, shipper *ship.Shipper) *Page {
	return &Page{version: version, engine: engine, store: store, sealer: sealer, spool: spooled, shipper: shipper, started: time.Now()}
}

// Serve listens until ctx ends and returns the address it is listening on.
func (p *Page) Serve(ctx context.Context, listen string) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return "", err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", p.metrics)
	mux.HandleFunc("GET /healthz", p.health)
	mux.HandleFunc("GET /readyz", p.ready)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 8 << 10}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(err) // the listener broke: there is no way to handle that
		}
	}()
	return listener.Addr().String(), nil
}

// health is 200 while ticks are sampled: the collector is alive even when the backend is not.
func (p *Page) health(w http.ResponseWriter, _ *http.Request) {
	const grace, stale = 5 * time.Second, 2 * time.Second
	last := time.UnixMicro(p.engine.Stats().LastTickUS.Load())
	if time.Since(p.started) > grace && time.Since(last) > stale {
		http.Error(w, "no tick since "+last.UTC().Format(time.RFC3339), http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}

// Trouble says what permanently keeps batches from the disk or from the backend; empty if nothing does.
func (p *Page) Trouble() string {
	if trouble := p.spool.Trouble(); trouble != "" {
		return "cannot write batches to the spool; they wait in memory, where a restart loses them: " + trouble
	}
	if err := p.store.NoRoom(); err != nil {
		return "the open batch is in memory, where a crash loses it, until the collector restarts with enough disk space: " + err.Error()
	}
	if why := p.shipper.Refusing(); why != "" {
		return fmt.Sprintf("the backend rejects batches, %d since the spool was created: %s", p.spool.Counts().Quarantined, why)
	}
	return ""
}

// ready is 200 while the collector can keep what it samples; a restart would not fix anything that makes it 503.
func (p *Page) ready(w http.ResponseWriter, _ *http.Request) {
	if trouble := p.Trouble(); trouble != "" {
		http.Error(w, trouble, http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}

func (p *Page) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	o := writer{w}
	engine, sealed, spooled, shipped := p.engine.Stats(), p.sealer.Stats(), p.spool.Counts(), p.shipper.Stats()
	o.metric("info", "gauge", "Version of the collector.", 1, "version", p.version, "go", runtime.Version())
	o.metric("ticks_total", "counter", "Ticks sampled.", float64(engine.Ticks.Load()))
	o.metric("ticks_missed_total", "counter", "Ticks lost because sampling began more than one tick late.", float64(engine.MissedTicks.Load()))
	o.metric("ticks_late_total", "counter", "Ticks sampled more than 10 ms after their deadline.", float64(engine.LateTicks.Load()))
	o.metric("tick_lateness_max_seconds", "gauge", "Greatest lateness since the start.", float64(engine.LatenessMaxUS.Load())/1e6)
	o.metric("sample_seconds_total", "counter", "Time spent in sources.", float64(engine.SampleUS.Load())/1e6)
	o.metric("cgroups", "gauge", "Cgroups being sampled.", float64(engine.Cgroups.Load()))
	o.metric("cgroups_shed", "gauge", "Cgroups left out because of --max-cgroups.", float64(engine.Shed.Load()))
	o.metric("shed_level", "gauge", "Resolution given up to stay within the CPU budget, 0 to 3.", float64(p.engine.ShedLevel()))
	o.metric("batches_sealed_total", "counter", "Batches finished.", float64(sealed.Batches.Load()))
	o.metric("batch_bytes_total", "counter", "Bytes of finished batches before compression.", float64(sealed.Bytes.Load()))
	o.metric("seal_failures_total", "counter", "Attempts to store a batch that failed.", float64(sealed.Failed.Load()))
	o.metric("spool_batches", "gauge", "Batches waiting to be sent.", float64(spooled.Batches))
	o.metric("spool_bytes", "gauge", "Bytes waiting to be sent.", float64(spooled.Bytes))
	o.metric("spool_memory_batches", "gauge", "Waiting batches that do not fit on the disk.", float64(spooled.InMemory))
	o.metric("spool_write_failures_total", "counter", "Batches that could not be written to disk.", float64(spooled.WriteFailed))
	o.metric("ready", "gauge", "1: batches are stored and accepted; 0: /readyz says why not.", map[bool]float64{true: 1}[p.Trouble() == ""])
	o.metric("spool_dropped_total", "counter", "Batches dropped because the spool was full, since it was created.", float64(spooled.Dropped))
	o.metric("spool_quarantined_total", "counter", "Batches that the backend permanently rejected.", float64(spooled.Quarantined))
	o.metric("batches_sent_total", "counter", "Batches acknowledged.", float64(shipped.Sent.Load()))
	o.metric("sent_bytes_total", "counter", "Compressed bytes acknowledged.", float64(shipped.SentBytes.Load()))
	o.metric("send_failures_total", "counter", "Attempts to send that failed.", float64(shipped.Failed.Load()))
	o.metric("last_send_timestamp_seconds", "gauge", "When a batch was last acknowledged.", float64(shipped.LastSuccessUS.Load())/1e6)
	dropped := p.store.Dropped()
	o.head("dropped_total", "counter", "What did not fit in the open batch.")
	o.value("dropped_total", float64(dropped.Ticks), "what", "ticks")
	o.value("dropped_total", float64(dropped.Records), "what", "records")
	o.value("dropped_total", float64(dropped.Series), "what", "series")
	o.value("dropped_total", float64(dropped.Resources), "what", "resources")
	p.process(o)
	o.head("source_up", "gauge", "1: works, 0.5: in part, 0: not available.")
	for _, status := range p.engine.Status() {
		up := map[ingestpb.SourceState]float64{ingestpb.SourceState_SOURCE_STATE_ACTIVE: 1, ingestpb.SourceState_SOURCE_STATE_DEGRADED: 0.5}[status.State]
		o.value("source_up", up, "source", status.Name)
	}
	o.head("source_counter_total", "counter", "The sources' own counters.")
	p.engine.EachCounter(func(source, name string, value float64) {
		o.value("source_counter_total", value, "source", source, "name", name)
	})
}

func (p *Page) process(o writer) {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) == nil {
		o.metric("cpu_seconds_total", "counter", "CPU time of the collector.", float64(usage.Utime.Nano()+usage.Stime.Nano())/1e9)
		o.metric("resident_max_bytes", "gauge", "Peak resident memory.", float64(usage.Maxrss)*1024)
	}
	o.metric("goroutines", "gauge", "Goroutines.", float64(runtime.NumGoroutine()))
}

type writer struct{ io.Writer }

const prefix = "jitterscope_collector_"

func (w writer) metric(name, kind, help string, value float64, labels ...string) {
	w.head(name, kind, help)
	w.value(name, value, labels...)
}

func (w writer) head(name, kind, help string) {
	_, _ = fmt.Fprintf(w, "# HELP %s%s %s\n# TYPE %s%s %s\n", prefix, name, help, prefix, name, kind)
}

func (w writer) value(name string, value float64, labels ...string) {
	text := ""
	for i := 0; i+1 < len(labels); i += 2 {
		if i > 0 {
			text += ","
		}
		text += labels[i] + "=" + strconv.Quote(labels[i+1])
	}
	if text != "" {
		text = "{" + text + "}"
	}
	_, _ = fmt.Fprintf(w, "%s%s%s %s\n", prefix, name, text, strconv.FormatFloat(value, 'g', -1, 64))
}
