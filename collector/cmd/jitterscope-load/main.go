// jitterscope-load sends DNS queries, HTTP requests, or gRPC calls to one server at an evenly paced, open-loop rate, records every
// latency, and samples a cgroup's CPU counters at the same time: the labs' independent measurement of what the product
// should see.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// mostMemory is how much memory there can be before a GC cycle where calls allocate, in bytes.
const mostMemory = 256 << 20

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "jitterscope-load:", err)
		os.Exit(1)
	}
}

// driver is a client of one protocol.
type driver interface {
	run(p *plan, timeout time.Duration) error
	book() *ledger
	close()
}

type options struct {
	http         bool
	grpc         int
	server       netip.AddrPort
	names        []string
	unique       bool
	clients      []netip.Addr
	reuse        bool
	ready        int
	whole        bool
	plan         plan
	timeout      time.Duration
	sockets      int
	out          string
	cpuStat      string
	cpuacctUsage string
	sampleEvery  time.Duration
	nice         int
}

func parseOptions(arguments []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("jitterscope-load", flag.ContinueOnError)
	server := flags.String("server", "", "ADDRESS:PORT of the server (DNS over UDP, HTTP/1.1, gRPC)")
	flags.BoolVar(&o.http, "http", false, "send HTTP requests instead of DNS queries: --names are paths")
	flags.IntVar(&o.grpc, "grpc", 0, "send gRPC calls on this many connections instead of DNS queries: --names are methods")
	flags.BoolVar(&o.reuse, "reuse", true, "send HTTP requests on idle connections; false: each on its own connection")
	flags.IntVar(&o.ready, "ready", 0, "connections for HTTP requests that are opened before the first one")
	flags.BoolVar(&o.whole, "whole", false, "time HTTP responses until all of them was read; false: until their first byte")
	names := flags.String("names", "", "comma-separated names to query in turn, type A")
	flags.BoolVar(&o.unique, "unique", false, "query a new name each time: a counter below each of the names")
	clients := flags.String("clients", "", "comma-separated addresses of this machine to send from, in turn")
	seconds := flags.Float64("seconds", 10, "how long to send")
	startAt := flags.Int64("start-at-us", 0, "first query at this time, µs since the epoch (0: in 50 ms)")
	flags.Float64Var(&o.plan.qps, "qps", 1000, "queries per second outside bursts")
	flags.Float64Var(&o.plan.burstQPS, "burst-qps", 0, "queries per second within bursts (0: no bursts)")
	burstMs := flags.Float64("burst-ms", 0, "length of a burst")
	everyMs := flags.Float64("every-ms", 0, "from the start of one burst to the next; the first one after a whole interval")
	flags.Float64Var(&o.plan.calmQPS, "calm-qps", 0, "queries per second at first, for --calm-seconds")
	calmSeconds := flags.Float64("calm-seconds", 0, "how long, of --seconds; bursts are planned as without it")
	timeoutMs := flags.Float64("timeout-ms", 5000, "a query without an answer for this long is lost")
	flags.IntVar(&o.sockets, "sockets", 1, "client sockets, used in turn")
	flags.StringVar(&o.out, "out", "", "result file")
	flags.StringVar(&o.cpuStat, "cpu-stat", "", "cpu.stat of the cgroup to sample (v1 or v2)")
	flags.StringVar(&o.cpuacctUsage, "cpuacct-usage", "", "cpuacct.usage of the cgroup (v1 only)")
	sampleMs := flags.Float64("sample-ms", 10, "interval of those samples")
	flags.IntVar(&o.nice, "nice", 0, "scheduling priority; the clients represent other machines, so nothing here should delay them")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	address, err := netip.ParseAddrPort(*server)
	if err != nil {
		return o, fmt.Errorf("--server %q: want ADDRESS:PORT: %w", *server, err)
	}
	o.server = address
	for name := range strings.SplitSeq(*names, ",") {
		if name != "" {
			o.names = append(o.names, name)
		}
	}
	for address := range strings.SplitSeq(*clients, ",") {
		if address == "" {
			continue
		}
		client, err := netip.ParseAddr(address)
		if err != nil {
			return o, fmt.Errorf("--clients: %w", err)
		}
		o.clients = append(o.clients, client)
	}
	o.sockets = max(o.sockets, len(o.clients))
	o.plan.startNs = *startAt * 1000
	o.plan.calmNs = int64(*calmSeconds * 1e9)
	o.plan.durationNs = int64(*seconds * 1e9)
	o.plan.burstNs = int64(*burstMs * 1e6)
	o.plan.everyNs = int64(*everyMs * 1e6)
	o.timeout = time.Duration(*timeoutMs * 1e6)
	o.sampleEvery = time.Duration(*sampleMs * 1e6)
	switch {
	case len(o.names) == 0:
		return o, errors.New("--names is empty: give at least one name or path")
	case (o.http || o.grpc > 0) && o.unique:
		return o, errors.New("--unique is for DNS names, not for --http or --grpc")
	case o.grpc < 0 || o.grpc > 64 || o.grpc > 0 && o.http:
		return o, fmt.Errorf("--grpc %d: want 1 to 64, and no --http", o.grpc)
	case o.out == "":
		return o, errors.New("--out is missing: where should the results go?")
	case o.sockets < 1 || o.sockets > 64:
		return o, fmt.Errorf("--sockets %d: want 1 to 64", o.sockets)
	case o.timeout < time.Millisecond || o.timeout > 30*time.Second:
		return o, errors.New("--timeout-ms: want 1 to 30000")
	case o.sampleEvery < time.Millisecond:
		return o, errors.New("--sample-ms: want at least 1")
	}
	if o.http || o.grpc > 0 {
		return o, o.plan.check()
	}
	return o, errors.Join(o.plan.check(), o.plan.checkIDs(o.sockets, o.timeout))
}

func (o *options) newDriver() (driver, error) {
	if o.grpc > 0 {
		return newGRPCClient(o.server, o.names, o.grpc, o.plan.capacity())
	}
	if o.http {
		return newHTTPClient(o.server, o.names, o.clients, httpOptions{o.reuse, o.whole, o.ready}, o.plan.capacity())
	}
	return newClient(o.server, o.names, o.unique, o.sockets, o.clients, o.plan.capacity())
}

func run(arguments []string) error {
	o, err := parseOptions(arguments)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	// Everything is allocated up front, so a GC cycle could only disturb the measurement.
	debug.SetGCPercent(-1)
	if o.grpc > 0 {
		debug.SetMemoryLimit(mostMemory)
	}
	// One for each thread that blocks in the kernel plus one: with a spare, the scheduler leaves them alone.
	runtime.GOMAXPROCS(o.sockets + 3)
	if o.nice != 0 {
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, o.nice); err != nil {
			fmt.Fprintln(os.Stderr, "jitterscope-load: keeps its priority:", err)
		}
	}
	var sample *counters
	if o.cpuStat != "" {
		if sample, err = newCounters(o.cpuStat, o.cpuacctUsage, o.sampleEvery, o.plan.durationNs); err != nil {
			return err
		}
	}
	client, err := o.newDriver()
	if err != nil {
		return err
	}
	defer client.close()
	if o.server.Addr().IsLoopback() {
		if client.book().wireNs, err = wireDelayNs(o.plan.qps); err != nil {
			return err
		}
	}
	if o.plan.startNs == 0 {
		o.plan.startNs = time.Now().Add(50 * time.Millisecond).UnixNano()
	}
	stopSampling := func() error { return nil }
	if sample != nil {
		stopSampling = sample.start(o.plan.startNs)
	}
	sendErr := client.run(&o.plan, o.timeout)
	if err := errors.Join(sendErr, stopSampling()); err != nil {
		return err
	}
	result := client.book().result(o.plan, o.timeout)
	if sample != nil {
		result.samples = sample.rows
	}
	if err := result.write(o.out); err != nil {
		return fmt.Errorf("writing %s: %w", o.out, err)
	}
	return json.NewEncoder(os.Stdout).Encode(result.summary())
}
