package dnsservers

import (
	"encoding/json"
	"net/netip"
	"strconv"
	"strings"

	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
)

// Upstream is one server that a zone is forwarded to. Fields that the configuration does not set are omitted.
type Upstream struct {
	Zone          string  `json:"zone"` // "." or a domain without its last dot
	Address       string  `json:"address"`
	Port          uint16  `json:"port"`
	ForceTCP      bool    `json:"force_tcp,omitempty"`
	PreferUDP     bool    `json:"prefer_udp,omitempty"`
	MaxConcurrent int     `json:"max_concurrent,omitempty"`
	ExpireS       float64 `json:"expire_s,omitempty"`
	Policy        string  `json:"policy,omitempty"`
}

// Settings are what the configuration of a server says about one of its ports. Empty and 0: it does not say, or cannot
// be read.
type Settings struct {
	Known         bool // the configuration could be read
	Arguments     string
	Upstreams     []Upstream
	ChildLimit    int
	NegativeCache string // yes or no
	NoIdent       bool   // dnsmasq does not answer CHAOS questions
}

// maxUpstreams bounds the fact.
const maxUpstreams = 64

// ReadSettings reads the settings of a server that listens on port.
func ReadSettings(proc string, process *procwatch.Process, port uint16) Settings {
	var s Settings
	switch process.DNS {
	case "dnsmasq":
		s = readDnsmasq(proc, process.PID)
	case "coredns", "node-cache":
		s = readCoreDNS(proc, process.PID, port)
	}
	s.Upstreams = s.Upstreams[:min(len(s.Upstreams), maxUpstreams)]
	return s
}

// UpstreamsJSON is the fact dns.upstreams.
func (s *Settings) UpstreamsJSON() string {
	if len(s.Upstreams) == 0 {
		return "[]"
	}
	text, err := json.Marshal(s.Upstreams)
	if err != nil {
		return "[]"
	}
	return string(text)
}

// parseAddress reads an address with or without a port, "10.0.0.1", "10.0.0.1:5353", "::1", "[::1]:53", "fe80::1%eth0".
func parseAddress(text string, port uint16) (Upstream, bool) {
	if at, err := netip.ParseAddrPort(text); err == nil {
		return Upstream{Address: plain(at.Addr()), Port: at.Port()}, true
	}
	if at, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return Upstream{Address: plain(at), Port: port}, true
	}
	return Upstream{}, false
}

func plain(address netip.Addr) string { return address.Unmap().WithZone("").String() }

// normalZone writes a zone in lower case without its last dot; "." is the root.
func normalZone(zone string) string {
	zone = strings.ToLower(strings.TrimSuffix(zone, "."))
	if zone == "" {
		return "."
	}
	return zone
}

// reverseZone turns a network, "10.1.0.0/16", into its reverse zone, cut to whole octets or nibbles.
func reverseZone(network string) string {
	prefix, err := netip.ParsePrefix(network)
	if err != nil {
		address, err := netip.ParseAddr(network)
		if err != nil {
			return normalZone(network)
		}
		prefix = netip.PrefixFrom(address, address.BitLen())
	}
	var labels []string
	if prefix.Addr().Is4() {
		octets := prefix.Addr().As4()
		for i := range prefix.Bits() / 8 {
			labels = append([]string{strconv.Itoa(int(octets[i]))}, labels...)
		}
		return strings.Join(append(labels, "in-addr.arpa"), ".")
	}
	bytes := prefix.Addr().As16()
	for i := range prefix.Bits() / 4 {
		nibble := bytes[i/2] >> (4 * (1 - i%2)) & 15
		labels = append([]string{strconv.FormatUint(uint64(nibble), 16)}, labels...)
	}
	return strings.Join(append(labels, "ip6.arpa"), ".")
}
