package dnsservers

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/jitterscope/jitterscope/collector/internal/procroot"
)

// ResolvConf is the fact dns.resolv_conf, from a file as resolv.conf(5) describes it.
type ResolvConf struct {
	Nameservers []string `json:"nameservers"`
	Search      []string `json:"search"`
	NDots       int      `json:"ndots"`
	Options     []string `json:"options"`
}

const maxResolvConfBytes = 64 << 10

// ReadResolvConf reads a resolv.conf as a process sees it.
func ReadResolvConf(proc string, pid int, path string) (ResolvConf, error) {
	text, err := procroot.ReadFile(proc, pid, path, maxResolvConfBytes)
	if err != nil {
		return ResolvConf{}, err
	}
	return ParseResolvConf(string(text)), nil
}

// ParseResolvConf parses a file. As in the C library the last search or domain line applies, and ndots is 1 by default
// and 15 at most.
func ParseResolvConf(text string) ResolvConf {
	conf := ResolvConf{Nameservers: []string{}, Search: []string{}, NDots: 1, Options: []string{}}
	for _, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) < 2 || strings.ContainsRune(";#", rune(fields[0][0])) {
			continue
		}
		switch fields[0] {
		case "nameserver":
			if address, err := netip.ParseAddr(fields[1]); err == nil && len(conf.Nameservers) < 16 {
				conf.Nameservers = append(conf.Nameservers, plain(address))
			}
		case "domain":
			conf.Search = []string{normalZone(fields[1])}
		case "search":
			conf.Search = conf.Search[:0]
			for _, domain := range fields[1:min(len(fields), 33)] {
				conf.Search = append(conf.Search, normalZone(domain))
			}
		case "options":
			for _, option := range fields[1:] {
				if number, ok := strings.CutPrefix(option, "ndots:"); ok {
					if n, err := strconv.Atoi(number); err == nil && n >= 0 {
						conf.NDots = min(n, 15)
					}
				}
				if !slices.Contains(conf.Options, option) && len(conf.Options) < 32 {
					conf.Options = append(conf.Options, option)
				}
			}
		}
	}
	return conf
}
