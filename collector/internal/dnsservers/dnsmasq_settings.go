package dnsservers

import (
	"strconv"
	"strings"
)

// DefaultChildLimit is MAX_PROCS of dnsmasq's config.h: the number of concurrent TCP connections it serves unless
// --max-tcp-connections (2.90 and newer) says otherwise.
const DefaultChildLimit = 20

// readDnsmasq reads the settings of a running dnsmasq.
func readDnsmasq(proc string, pid int) (s Settings) {
	arguments, options, err := dnsmasqOptions(proc, pid)
	if err != nil {
		return s
	}
	return dnsmasqSettings(arguments, options, func(path string) []string {
		conf, _ := ReadResolvConf(proc, pid, path)
		return conf.Nameservers
	})
}

// dnsmasqSettings evaluates options; if one is given twice the last one applies, but servers add up. resolver returns
// the name servers of a resolv.conf.
func dnsmasqSettings(arguments []string, options []option, resolver func(string) []string) Settings {
	s := Settings{Known: true, Arguments: stripArguments(arguments), ChildLimit: DefaultChildLimit, NegativeCache: "yes"}
	var resolvFiles []string
	resolve := true
	for _, o := range options {
		switch o.name {
		case "server", "local":
			s.Upstreams = append(s.Upstreams, dnsmasqServers(o.value)...)
		case "rev-server":
			network, server, _ := strings.Cut(o.value, ",")
			if upstream, ok := dnsmasqAddress(server); ok {
				upstream.Zone = reverseZone(network)
				s.Upstreams = append(s.Upstreams, upstream)
			}
		case "resolv-file":
			resolvFiles = append(resolvFiles, o.value)
		case "no-resolv":
			resolve = false
		case "no-negcache":
			s.NegativeCache = "no"
		case "cache-size":
			if size, err := strconv.Atoi(o.value); err == nil && size == 0 {
				s.NegativeCache = "no"
			}
		case "max-tcp-connections":
			if limit, err := strconv.Atoi(o.value); err == nil && limit > 0 {
				s.ChildLimit = limit
			}
		case "no-ident":
			s.NoIdent = true
		}
	}
	if !resolve {
		return s
	}
	if len(resolvFiles) == 0 {
		resolvFiles = []string{"/etc/resolv.conf"}
	}
	for _, path := range resolvFiles {
		for _, address := range resolver(path) {
			s.Upstreams = append(s.Upstreams, Upstream{Zone: ".", Address: address, Port: Port})
		}
	}
	return s
}

// dnsmasqServers reads --server=[/DOMAIN/…][SERVER[#PORT]][@INTERFACE or SOURCE]. Without a server, names of the domain
// are answered locally; # as a server means the usual ones.
func dnsmasqServers(value string) (list []Upstream) {
	zones := []string{"."}
	if strings.HasPrefix(value, "/") {
		parts := strings.Split(value[1:], "/")
		zones, value = nil, parts[len(parts)-1]
		for _, domain := range parts[:len(parts)-1] {
			if domain = strings.TrimPrefix(strings.TrimPrefix(domain, "*"), "."); domain != "" { // "//": names without a dot
				zones = append(zones, normalZone(domain))
			}
		}
	}
	upstream, ok := dnsmasqAddress(value)
	if !ok {
		return nil
	}
	for _, upstream.Zone = range zones {
		list = append(list, upstream)
	}
	return list
}

// dnsmasqAddress reads "10.0.0.1#5353@eth0".
func dnsmasqAddress(text string) (Upstream, bool) {
	text, _, _ = strings.Cut(text, "@")
	address, number, ok := strings.Cut(text, "#")
	port := uint64(Port)
	if ok {
		var err error
		if port, err = strconv.ParseUint(number, 10, 16); err != nil {
			return Upstream{}, false
		}
	}
	return parseAddress(address, uint16(port))
}
