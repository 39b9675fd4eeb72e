package gometrics

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/dnswire"
	"github.com/jitterscope/jitterscope/collector/internal/netns"
	"github.com/jitterscope/jitterscope/collector/internal/netsock"
)

const (
	timeout      = 2 * time.Second
	maxPageBytes = 4 << 20
	maxPorts     = 4 // tried at most
)

// Page is the metrics page of one process, reached inside its network namespace.
type Page struct {
	url    string
	client *http.Client
}

// Find looks for the metrics page on the TCP ports where the process listens. Ports that also serve UDP belong to a DNS
// server's clients and are left alone. It returns nil if there is none.
func Find(ctx context.Context, proc string, pid int) (*Page, error) {
	return FindWith(ctx, proc, pid, []uint16{9153, 9253}, func(ctx context.Context, page *Page) bool {
		sample, err := page.Read(ctx)
		return err == nil && sample.HasGoCollector
	})
}

// FindWith is Find for pages that accept recognizes; the usual ports are tried first.
func FindWith(ctx context.Context, proc string, pid int, usual []uint16, accept func(context.Context, *Page) bool) (*Page, error) {
	inodes, err := netsock.Inodes(proc, pid)
	if err != nil {
		return nil, err
	}
	udp := make(map[uint16]bool)
	var listening []dnswire.Endpoint
	for _, table := range []string{"udp", "udp6", "tcp", "tcp6"} {
		_ = netsock.List(proc, pid, table, func(s *netsock.Socket) { // no IPv6, no udp6
			_, ours := inodes[s.Inode]
			switch {
			case !ours:
			case table[0] == 'u':
				udp[s.Local.Port] = true
			case s.State == netsock.TCPListen && !udp[s.Local.Port] && s.Local.Port != 53 && s.Local.Port != 853:
				listening = append(listening, s.Local)
			}
		})
	}
	for _, endpoint := range ordered(listening, usual) {
		page := open(proc, pid, endpoint)
		if accept(ctx, page) {
			return page, nil
		}
		page.Close()
	}
	return nil, nil
}

// ordered puts the usual ports first and bounds the number of tries.
func ordered(endpoints []dnswire.Endpoint, usual []uint16) []dnswire.Endpoint {
	rank := func(e dnswire.Endpoint) int {
		if slices.Contains(usual, e.Port) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(endpoints, func(a, b dnswire.Endpoint) int { return rank(a) - rank(b) })
	return endpoints[:min(len(endpoints), maxPorts)]
}

func open(proc string, pid int, endpoint dnswire.Endpoint) *Page {
	address := netip.AddrFrom16(endpoint.Address).Unmap()
	if address.IsUnspecified() {
		if address.Is4() {
			address = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		} else {
			address = netip.IPv6Loopback()
		}
	}
	target := netip.AddrPortFrom(address, endpoint.Port).String()
	dial := func(ctx context.Context, _, _ string) (connection net.Conn, err error) {
		own, errOwn := netns.ID(proc, "self")
		other, errOther := netns.ID(proc, fmt.Sprint(pid))
		if errOwn == nil && errOther == nil && own == other {
			return new(net.Dialer).DialContext(ctx, "tcp", target)
		}
		err = netns.Do(proc, pid, func() error {
			connection, err = new(net.Dialer).DialContext(ctx, "tcp", target)
			return err
		})
		return connection, err
	}
	return &Page{
		url: "http://" + target + "/metrics",
		client: &http.Client{
			Timeout: timeout,
			// One idle connection is kept: a new one for each scrape would be work for the observed process.
			Transport: &http.Transport{DialContext: dial, MaxIdleConns: 1, DisableCompression: true, IdleConnTimeout: time.Minute},
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse
			},
		},
	}
}

// Read scrapes the page once.
func (p *Page) Read(ctx context.Context) (sample Sample, err error) {
	err = p.Get(ctx, func(text io.Reader) (err error) {
		sample, err = Parse(text, time.Now())
		return err
	})
	return sample, err
}

// Get scrapes the page once and passes it to parse.
func (p *Page) Get(ctx context.Context, parse func(io.Reader) error) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		return err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", p.url, response.Status)
	}
	return parse(io.LimitReader(response.Body, maxPageBytes))
}

// Close closes the kept connection.
func (p *Page) Close() { p.client.CloseIdleConnections() }
