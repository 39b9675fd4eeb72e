package dns

import (
	"slices"

	"github.com/jitterscope/jitterscope/collector/internal/dnscapture"
	"github.com/jitterscope/jitterscope/collector/internal/netns"
)

// widen gives the host's capture the ring that a DNS server needs, once there is one. Called with mu held.
func (m *dnsManager) widen() {
	if m.wide || len(m.listeners) == 0 {
		return
	}
	old := m.captures.list[0]
	host, err := openCapture(old.number, old.namespace, dnscapture.Ring)
	if err != nil {
		m.registry.Log.Warn("capturing packets with a small buffer: a larger one is not available", "error", err)
		m.wide = true // it works, and a retry would report the same
		return
	}
	m.wide = true
	m.registry.Between(func() { m.captures.list[0] = host })
	_ = old.socket.Close()
}

// openNamespaces opens sockets in the namespaces of servers in containers: traffic that stays inside is not visible
// from the host. Called with mu held.
func (m *dnsManager) openNamespaces() {
	wanted := make(map[uint64]int)
	for i := range m.listeners {
		if process := m.listeners[i].Process; process.NetworkNS != m.own && process.NetworkNS != 0 {
			wanted[process.NetworkNS] = process.PID
		}
	}
	var gone, fresh []*capture
	for _, c := range m.captures.list[1:] {
		if _, ok := wanted[c.namespace]; !ok {
			gone = append(gone, c)
		}
		delete(wanted, c.namespace)
	}
	for namespace := range m.refused {
		if _, ok := wanted[namespace]; !ok {
			delete(m.refused, namespace)
		}
	}
	for namespace, pid := range wanted {
		if m.refused[namespace] != nil {
			continue
		}
		if number, ok := m.freeCapture(fresh); ok {
			c, err := m.openIn(number, namespace, pid)
			if err != nil {
				m.refused[namespace] = err
				continue
			}
			fresh = append(fresh, c)
		}
	}
	if len(gone)+len(fresh) == 0 {
		return
	}
	m.registry.Between(func() {
		m.captures.list = slices.DeleteFunc(m.captures.list, func(c *capture) bool { return slices.Contains(gone, c) })
		m.captures.list = append(m.captures.list, fresh...)
	})
	for _, c := range gone {
		m.dropServers(func(s *dnsServer) bool { return s.Key.Capture == c.number })
		_ = c.socket.Close()
	}
}

func (m *dnsManager) freeCapture(fresh []*capture) (uint8, bool) {
	for number := uint8(1); number <= maxNamespaces; number++ {
		taken := func(c *capture) bool { return c.number == number }
		if !slices.ContainsFunc(m.captures.list, taken) && !slices.ContainsFunc(fresh, taken) {
			return number, true
		}
	}
	return 0, false
}

func (m *dnsManager) openIn(number uint8, namespace uint64, pid int) (c *capture, err error) {
	err = netns.Do(m.registry.Roots.Proc, pid, func() error {
		c, err = openCapture(number, namespace, dnscapture.SmallRing)
		return err
	})
	return c, err
}
