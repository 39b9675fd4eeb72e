package gometrics

import "math"

// CoreDNS is what a CoreDNS, or a program built from it such as node-local-dns, counted since it started. Values that
// the page does not have are NaN.
//
// The names have changed twice: 1.7.0 removed "count" from coredns_forward_request_count_total and the like, and 1.11.0
// moved requests and connections of the forward plugin to coredns_proxy_* (notes/coredns-1.7.0.md and
// plugin/forward/README.md of CoreDNS).
type CoreDNS struct {
	Present         bool // the page is from a CoreDNS
	CacheHits       float64
	CacheMisses     float64
	ForwardRequests float64 // answered by an upstream
	ForwardSeconds  float64 // total time of these
	ForwardErrors   float64 // SERVFAIL answers of upstreams, failed health checks, all upstreams down
	ConnHits        float64 // forwarded queries that found a pooled connection; not before 1.7.1
	ConnMisses      float64 // forwarded queries that opened one
	Rejects         float64 // max_concurrent
	Panics          float64
}

// HasForward reports whether the server forwards queries.
func (c *CoreDNS) HasForward() bool { return !math.IsNaN(c.ForwardRequests) }

// total is the sum of a family over its labels.
type total struct {
	sum  float64
	seen bool
}

func (t *total) add(value float64) { t.sum, t.seen = t.sum+value, true }

// or0 returns the sum. A family without any count yet is not on the page: it is 0 if the plugin is present.
func (t *total) or0(there bool) float64 {
	if !t.seen && !there {
		return math.NaN()
	}
	return t.sum
}

// coreDNSTotals are the families of a page while it is read.
type coreDNSTotals struct {
	present, cachePlugin, forwardPlugin   bool
	hits, misses, asked                   total
	requests, seconds, errors             total
	connHits, connMisses, rejects, panics total
}

// add adds a sample of the page.
func (c *coreDNSTotals) add(name, labels, text []byte) {
	const prefix = "coredns_"
	if len(name) <= len(prefix) || string(name[:len(prefix)]) != prefix {
		return
	}
	c.present = true
	family := c.family(string(name[len(prefix):]), labels)
	if family == nil {
		return
	}
	if value, ok := Number(text); ok {
		family.add(value)
		if string(name) == "coredns_proxy_request_duration_seconds_count" && isServfail(labels) {
			c.errors.add(value)
		}
	}
}

func isServfail(labels []byte) bool { return string(Label(labels, "rcode")) == "SERVFAIL" }

// family returns where a sample is added, nil for unused ones.
func (c *coreDNSTotals) family(name string, labels []byte) *total {
	switch name {
	case "plugin_enabled":
		plugin := string(Label(labels, "name"))
		c.cachePlugin = c.cachePlugin || plugin == "cache"
		c.forwardPlugin = c.forwardPlugin || plugin == "forward"
	case "cache_hits_total":
		return &c.hits
	case "cache_misses_total":
		return &c.misses
	case "cache_requests_total":
		return &c.asked
	case "proxy_request_duration_seconds_count", "forward_requests_total", "forward_request_count_total":
		return &c.requests
	case "proxy_request_duration_seconds_sum", "forward_request_duration_seconds_sum":
		return &c.seconds
	case "forward_responses_total", "forward_response_rcode_count_total":
		if isServfail(labels) {
			return &c.errors
		}
	case "proxy_healthcheck_failures_total", "forward_healthcheck_failures_total", "forward_healthcheck_failure_count_total",
		"forward_healthcheck_broken_total", "forward_healthcheck_broken_count_total":
		return &c.errors
	case "proxy_conn_cache_hits_total", "forward_conn_cache_hits_total":
		return &c.connHits
	case "proxy_conn_cache_misses_total", "forward_conn_cache_misses_total":
		return &c.connMisses
	case "forward_max_concurrent_rejects_total", "forward_max_concurrent_reject_count_total":
		return &c.rejects
	case "panics_total", "panic_count_total":
		return &c.panics
	}
	return nil
}

// counters infers from the page the values of families that have not counted anything yet.
func (c *coreDNSTotals) counters() CoreDNS {
	cache := c.cachePlugin || c.hits.seen || c.misses.seen || c.asked.seen
	forward := c.forwardPlugin || c.requests.seen
	// Every forwarded query found a connection or opened one. If none is counted, the release does not count them, or
	// nothing was forwarded yet.
	connections := c.connHits.seen || c.connMisses.seen || (forward && c.requests.sum == 0)
	misses := c.misses
	if !misses.seen && c.asked.seen { // deprecated since 1.8.5, "derive misses from cache hits/requests counters"
		misses.add(c.asked.sum - c.hits.sum)
	}
	return CoreDNS{
		Present: c.present, CacheHits: c.hits.or0(cache), CacheMisses: misses.or0(cache),
		ForwardRequests: c.requests.or0(forward), ForwardSeconds: c.seconds.or0(forward), ForwardErrors: c.errors.or0(forward),
		ConnHits: c.connHits.or0(connections), ConnMisses: c.connMisses.or0(connections),
		Rejects: c.rejects.or0(false), Panics: c.panics.or0(false),
	}
}
