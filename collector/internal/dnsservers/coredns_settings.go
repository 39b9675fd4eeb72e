package dnsservers

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/corefile"
)

// readCoreDNS reads the Corefile of a running CoreDNS or node-local-dns for one of its ports.
func readCoreDNS(proc string, pid int, port uint16) Settings {
	arguments, file, err := openCorefile(proc, pid)
	if err != nil {
		return Settings{}
	}
	blocks, err := corefile.Parse(file, importsOf(proc, pid))
	if err != nil {
		return Settings{} // the server runs with another one, or will not run for long
	}
	expandAll(blocks, func(name string) string { return environmentOf(proc, pid, name) })
	resolver := func(path string) []string {
		conf, _ := ReadResolvConf(proc, pid, path)
		return conf.Nameservers
	}
	return coreDNSSettings(blocks, defaultPort(arguments), port, resolver)
}

// expandAll replaces references to the environment of the server.
func expandAll(blocks []corefile.Block, environment func(string) string) {
	expand := func(words []string) {
		for i, word := range words {
			words[i] = expandReferences(word, environment)
		}
	}
	for i := range blocks {
		expand(blocks[i].Zones)
		for k := range blocks[i].Plugins {
			plugin := &blocks[i].Plugins[k]
			plugin.Name = expandReferences(plugin.Name, environment)
			expand(plugin.Args)
			for _, option := range plugin.Options {
				expand(option)
			}
		}
	}
}

// coreDNSSettings examines the server blocks of one port. resolver returns the name servers of a resolv.conf.
func coreDNSSettings(blocks []corefile.Block, usual, port uint16, resolver func(string) []string) (s Settings) {
	s.Known = true
	cached, uncached, unknown := 0, 0, 0
	for i := range blocks {
		zones := zonesOn(blocks[i].Zones, usual, port)
		if len(zones) == 0 {
			continue
		}
		answers, caches := false, negativeNo
		for k := range blocks[i].Plugins {
			plugin := &blocks[i].Plugins[k]
			switch plugin.Name {
			case "forward":
				answers = true
				s.Upstreams = append(s.Upstreams, forwards(plugin, zones, resolver)...)
			case "kubernetes", "k8s_external", "grpc", "route53", "azure", "clouddns", "etcd":
				answers = true
			case "cache":
				caches = cachesNegative(plugin)
			}
		}
		switch {
		case !answers:
		case caches == negativeYes:
			cached++
		case caches == negativeNo:
			uncached++
		default:
			unknown++
		}
	}
	if unknown == 0 && cached > 0 && uncached == 0 {
		s.NegativeCache = "yes"
	} else if unknown == 0 && uncached > 0 && cached == 0 {
		s.NegativeCache = "no"
	}
	return s
}

const (
	negativeNo = iota
	negativeYes
	negativePartly
)

// cachesNegative reads the plugin "cache [TTL] [ZONES]". It caches negative answers unless configured otherwise.
func cachesNegative(d *corefile.Plugin) int {
	zones := d.Args
	if len(zones) > 0 {
		if _, err := strconv.Atoi(zones[0]); err == nil {
			zones = zones[1:]
		}
	}
	result := negativeYes
	if len(zones) > 0 {
		result = negativePartly // for some of the block's names
	}
	for _, option := range d.Options {
		if option[0] == "disable" && len(option) > 1 && option[1] == "denial" {
			if len(option) > 2 {
				result = negativePartly
			} else {
				result = negativeNo
			}
		}
	}
	return result
}

// zonesOn returns the zones that the keys of a block name on a port.
func zonesOn(keys []string, usual, port uint16) (zones []string) {
	for _, key := range keys {
		scheme, rest, ok := strings.Cut(key, "://")
		if !ok {
			scheme, rest = "dns", key
		}
		on := usual
		switch scheme {
		case "dns":
		case "tls":
			on = TLSPort
		default: // https, grpc, quic: not DNS on its own port
			continue
		}
		if colon := strings.LastIndexByte(rest, ':'); colon >= 0 && !strings.Contains(rest[colon:], "]") {
			if number, err := strconv.ParseUint(rest[colon+1:], 10, 16); err == nil {
				on, rest = uint16(number), rest[:colon]
			}
		}
		if on != port {
			continue
		}
		if strings.Contains(rest, "/") {
			zones = append(zones, reverseZone(rest))
		} else {
			zones = append(zones, normalZone(rest))
		}
	}
	return zones
}

// forwards reads the plugin "forward FROM TO... { … }" in a block of zones.
func forwards(d *corefile.Plugin, zones []string, resolver func(string) []string) (list []Upstream) {
	if len(d.Args) < 2 {
		return nil
	}
	with := Upstream{}
	for _, option := range d.Options {
		value := ""
		if len(option) > 1 {
			value = option[1]
		}
		switch option[0] {
		case "force_tcp":
			with.ForceTCP = true
		case "prefer_udp":
			with.PreferUDP = true
		case "max_concurrent":
			with.MaxConcurrent, _ = strconv.Atoi(value)
		case "expire":
			if expire, err := time.ParseDuration(value); err == nil {
				with.ExpireS = expire.Seconds()
			}
		case "policy":
			with.Policy = value
		}
	}
	if from := normalZone(d.Args[0]); from != "." {
		zones = []string{from}
		if strings.Contains(from, "/") {
			zones = []string{reverseZone(from)}
		}
	}
	for _, zone := range zones {
		for _, to := range d.Args[1:] {
			for _, upstream := range forwardTargets(to, resolver) {
				with.Zone, with.Address, with.Port = zone, upstream.Address, upstream.Port
				list = append(list, with)
			}
		}
	}
	return list
}

// forwardTargets reads one TO: an address, or a file like /etc/resolv.conf.
func forwardTargets(to string, resolver func(string) []string) (list []Upstream) {
	port := uint16(Port)
	if rest, ok := strings.CutPrefix(to, "tls://"); ok {
		to, port = rest, TLSPort
	}
	to = strings.TrimPrefix(to, "dns://")
	if address, _, ok := strings.Cut(to, "%"); ok { // the server name of a certificate, or a network interface
		to = address
	}
	if upstream, ok := parseAddress(to, port); ok {
		return []Upstream{upstream}
	}
	for _, address := range resolver(to) {
		if upstream, ok := parseAddress(address, port); ok {
			list = append(list, upstream)
		}
	}
	return list
}

// defaultPort is the port of keys without one: -dns.port, or -p before CoreDNS 1.9.
func defaultPort(arguments []byte) uint16 {
	for _, name := range []string{"dns.port", "p"} {
		if number, err := strconv.ParseUint(flagValue(arguments, name), 10, 16); err == nil {
			return uint16(number)
		}
	}
	return Port
}

// environmentOf reads one variable of a process.
func environmentOf(proc string, pid int, name string) string {
	text, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "environ"))
	if err != nil {
		return ""
	}
	for _, entry := range bytes.Split(text, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(name+"=")); ok {
			return string(value)
		}
	}
	return ""
}
