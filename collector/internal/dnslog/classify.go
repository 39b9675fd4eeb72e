// Package dnslog reads the logs of DNS servers: where they are, how their lines are wrapped, and which lines report
// errors.
package dnslog

import (
	"bytes"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Kinds of errors, as in the event dns.error.
const (
	IOTimeout = iota
	ConnectionRefused
	Unreachable
	TooManyConnections
	Panic
	Other
	Kinds // the number of kinds
)

// KindNames are the names of the kinds in events.
var KindNames = [Kinds]string{"io_timeout", "connection_refused", "unreachable", "too_many_connections", "panic", "other"}

// signs identify the kind of an error, in the order in which they are tried. The texts are those of Go's net package
// and of the C library (strerror), of CoreDNS (plugin/forward: ErrLimitExceeded), dnsmasq (forward.c) and BIND.
var signs = []struct {
	text string
	kind int
}{
	{"i/o timeout", IOTimeout}, {"timed out", IOTimeout}, {"deadline exceeded", IOTimeout},
	{"onnection refused", ConnectionRefused},
	{"o route to host", Unreachable}, {"etwork is unreachable", Unreachable}, {"etwork unreachable", Unreachable}, {"ost unreachable", Unreachable},
	{"concurrent DNS queries reached", TooManyConnections}, {"concurrent queries exceeded maximum", TooManyConnections},
	{"oo many open files", TooManyConnections}, {"oo many connections", TooManyConnections},
}

// dnsmasqErrors are the beginnings of dnsmasq's error lines, which have no level.
var dnsmasqErrors = []string{
	"Maximum number of concurrent DNS queries reached", "failed to ", "cannot ", "nameserver ", "no servers found", "out of memory",
}

// Classify reports whether a line of a DNS server's log is an error, of which kind, and how many errors it stands for:
// CoreDNS can be configured to write one line for many (plugin/errors: consolidate).
func Classify(line []byte) (kind, count int, isError bool) {
	if bytes.HasPrefix(line, []byte("panic: ")) || bytes.HasPrefix(line, []byte("fatal error: ")) {
		return Panic, 1, true
	}
	if bytes.HasPrefix(line, []byte("[INFO] ")) { // includes one per query, with the name
		return 0, 0, false
	}
	text, level := message(line)
	if !level && !hasError(text) {
		return 0, 0, false
	}
	if bytes.Contains(text, []byte("Recovered from panic")) {
		return Panic, 1, true
	}
	kind = Other
	for _, sign := range signs {
		if bytes.Contains(text, []byte(sign.text)) {
			kind = sign.kind
			break
		}
	}
	return kind, consolidated(text), true
}

// message cuts off what precedes the text of a line, and reports whether that marks an error.
func message(line []byte) (text []byte, isError bool) {
	head := line[:min(len(line), 96)]
	for _, level := range []string{"[ERROR] ", "[FATAL] "} {
		if at := bytes.Index(head, []byte(level)); at >= 0 {
			return line[at+len(level):], true
		}
	}
	// klog: "E1010 08:02:36.571446       1 nanny.go:146] text", also before a line of the program that it runs.
	if len(line) > 6 && line[0] >= 'E' && line[0] <= 'W' && line[1] >= '0' && line[1] <= '9' && line[5] == ' ' {
		if at := bytes.Index(head, []byte("] ")); at >= 0 {
			isError, line = line[0] == 'E' || line[0] == 'F', line[at+2:]
		}
	}
	if at := bytes.Index(line[:min(len(line), 96)], []byte("dnsmasq[")); at >= 0 {
		if end := bytes.Index(line[at:], []byte("]: ")); end >= 0 {
			return line[at+end+3:], isError
		}
	}
	return line, isError
}

// hasError looks for errors of servers that write no level, or write it as a word: dnsmasq, unbound, BIND.
func hasError(text []byte) bool {
	for _, begin := range dnsmasqErrors {
		if bytes.HasPrefix(text, []byte(begin)) {
			return begin != "nameserver " || bytes.Contains(text, []byte(" refused to do a recursive query"))
		}
	}
	head := text[:min(len(text), 128)]
	return bytes.Contains(head, []byte("] error: ")) || bytes.Contains(head, []byte("error (")) ||
		bytes.Contains(head, []byte("timed out resolving '"))
}

// consolidated returns N of "plugin/errors: N errors like '…' occurred in last 30s", else 1.
func consolidated(text []byte) int {
	rest, ok := bytes.CutPrefix(text, []byte("plugin/errors: "))
	if !ok {
		return 1
	}
	number, rest, _ := bytes.Cut(rest, []byte{' '})
	if n, err := strconv.Atoi(string(number)); err == nil && n > 0 && n < 1<<30 && bytes.HasPrefix(rest, []byte("errors like ")) {
		return n
	}
	return 1
}

// Description is the content of one error line.
type Description struct {
	Upstream string // "172.18.165.130:53", "" if none is named
	Name     string // that was looked up, "" if none is named
	Line     string // as written, shortened, secrets removed
}

const maxLine = 400

// patterns are compiled at the first error: most collectors never see one.
type patterns struct {
	askedByCoreDNS, askedByBIND, peer, peerHash, peerNameserver, credentials, assignments, bearer *regexp.Regexp
}

var compiled = sync.OnceValue(func() *patterns {
	return &patterns{
		// "2 archive.ubuntu.com. A: dial tcp …" of CoreDNS's plugin/errors.
		askedByCoreDNS: regexp.MustCompile(`plugin/errors: \d+ (\S+) [A-Z0-9]+: `),
		// "connection refused) resolving 'example.com/A/IN': 192.0.2.1#53" of BIND.
		askedByBIND: regexp.MustCompile(`resolving '([^/' ]+)/`),
		// Of Go's net.OpError: "dial tcp 1.2.3.4:53:", "read udp 10.0.0.1:4000->1.2.3.4:53:".
		peer: regexp.MustCompile(`(?:->|(?:dial|read|write) (?:tcp|udp)[46]? )(\[?[0-9a-fA-F.:%a-z]+\]?:\d+)`),
		// "nameserver 1.2.3.4", "1.2.3.4#53" of dnsmasq and BIND.
		peerHash:       regexp.MustCompile(`([0-9a-fA-F.:]*[.:][0-9a-fA-F.:]+)#(\d+)`),
		peerNameserver: regexp.MustCompile(`nameserver ([0-9a-fA-F.:]+)`),
		// Possible secrets.
		credentials: regexp.MustCompile(`(://)[^/\s@]+@`),
		assignments: regexp.MustCompile(`(?i)\b([\w-]*(?:passw(?:or)?d|secret|token|credential|api[_-]?key|access[_-]?key|private[_-]?key)` +
			`[\w-]*["']?\s*[=:]\s*["']?)[^\s"',;&]+`),
		bearer: regexp.MustCompile(`(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}`),
	}
})

// Describe parses an error line.
func Describe(line []byte) Description {
	text := strings.ToValidUTF8(string(line[:min(len(line), 4*maxLine)]), "\uFFFD")
	d := Description{Line: Redact(text), Upstream: upstream(text)}
	for _, asked := range []*regexp.Regexp{compiled().askedByCoreDNS, compiled().askedByBIND} {
		if found := asked.FindStringSubmatch(text); found != nil {
			d.Name = found[1]
			break
		}
	}
	if len(d.Line) > maxLine {
		d.Line = strings.ToValidUTF8(d.Line[:maxLine], "") + "…"
	}
	return d
}

func upstream(text string) string {
	if all := compiled().peer.FindAllStringSubmatch(text, -1); all != nil {
		if address, err := netip.ParseAddrPort(all[len(all)-1][1]); err == nil {
			return address.String()
		}
	}
	if found := compiled().peerHash.FindStringSubmatch(text); found != nil {
		if address, err := netip.ParseAddr(found[1]); err == nil {
			port, _ := strconv.ParseUint(found[2], 10, 16)
			return netip.AddrPortFrom(address, uint16(port)).String()
		}
	}
	if found := compiled().peerNameserver.FindStringSubmatch(text); found != nil {
		if address, err := netip.ParseAddr(found[1]); err == nil {
			return netip.AddrPortFrom(address, 53).String()
		}
	}
	return ""
}

// Redact replaces possible secrets by the word REDACTED: an error can quote a URL or a header.
func Redact(text string) string {
	text = compiled().credentials.ReplaceAllString(text, "${1}REDACTED@")
	text = compiled().bearer.ReplaceAllString(text, "$1 REDACTED")
	return compiled().assignments.ReplaceAllString(text, "${1}REDACTED")
}
