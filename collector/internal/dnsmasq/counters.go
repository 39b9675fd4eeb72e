// Package dnsmasq queries a dnsmasq for its own counters: questions of class CHAOS and type TXT in the domain "bind"
// (dnsmasq(8), CACHE STATISTICS).
package dnsmasq

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/jitterscope/jitterscope/collector/internal/netns"
	"github.com/jitterscope/jitterscope/collector/internal/procwatch"
)

const timeout = time.Second

// Client queries one dnsmasq over UDP from inside its network namespace.
type Client struct{ connection *dns.Conn }

// Counters are totals since the dnsmasq started. Only its main process counts: the children that serve TCP are not
// included.
type Counters struct{ Hits, Misses uint64 }

// ErrNoAnswer means that the server answers, but not such questions: it runs with --no-ident, or is not a dnsmasq.
var ErrNoAnswer = errors.New("no answer to CHAOS questions")

// ErrNoVersion means that the server answers without a version number.
var ErrNoVersion = errors.New("no version number")

// Connect creates a Client; own is the collector's network namespace.
func Connect(proc string, process *procwatch.Process, address netip.AddrPort, own uint64) (*Client, error) {
	var client *Client
	dial := func() error {
		udp, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(address))
		if err == nil {
			client = &Client{&dns.Conn{Conn: udp}}
		}
		return err
	}
	if process.NetworkNS == own || process.NetworkNS == 0 {
		err := dial() // separate from the return, which might read client earlier
		return client, err
	}
	err := netns.Do(proc, process.PID, dial)
	return client, err
}

// Questions is how many questions Counters asks. dnsmasq counts them as hits.
const Questions = 2

// Counters asks for hits.bind and misses.bind, always in this order, so that the same number of its own questions lies
// between two answers.
func (c *Client) Counters() (counters Counters, err error) {
	if counters.Hits, err = c.number("hits.bind."); err != nil {
		return counters, err
	}
	counters.Misses, err = c.number("misses.bind.")
	return counters, err
}

func (c *Client) number(name string) (uint64, error) {
	text, err := c.ask(name)
	if err != nil {
		return 0, err
	}
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %q, %w", name, text, ErrNoAnswer)
	}
	return number, nil
}

// Version asks for version.bind: "dnsmasq-2.90" is 2.90.
func (c *Client) Version() (string, error) {
	text, err := c.ask("version.bind.")
	if err != nil {
		return "", err
	}
	version, ok := strings.CutPrefix(text, "dnsmasq-")
	if !ok || version == "" || version[0] < '0' || version[0] > '9' || len(version) > 64 { // "UNKNOWN" if it was built from a working copy
		return "", ErrNoVersion
	}
	return version, nil
}

// ask sends one question and waits for its answer; late answers to earlier questions are skipped.
func (c *Client) ask(name string) (string, error) {
	question := new(dns.Msg)
	question.SetQuestion(name, dns.TypeTXT)
	question.Question[0].Qclass = dns.ClassCHAOS
	question.RecursionDesired = false // a server that does not know these names must not forward them
	if err := c.connection.SetDeadline(time.Now().Add(timeout)); err != nil {
		return "", err
	}
	if err := c.connection.WriteMsg(question); err != nil {
		return "", err
	}
	for {
		answer, err := c.connection.ReadMsg()
		if err != nil {
			return "", err
		}
		if answer.Id != question.Id {
			continue
		}
		for _, record := range answer.Answer {
			if txt, ok := record.(*dns.TXT); ok && len(txt.Txt) == 1 {
				return txt.Txt[0], nil
			}
		}
		return "", fmt.Errorf("%s: %s, %w", name, dns.RcodeToString[answer.Rcode], ErrNoAnswer)
	}
}

// Close closes the socket.
func (c *Client) Close() error { return c.connection.Close() }
