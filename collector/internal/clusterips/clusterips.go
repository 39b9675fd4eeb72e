// Package clusterips tells which Kubernetes Service has an address, and which addresses lead to a container. The source
// that lists Services sets both; sources that see calls and servers look them up.
package clusterips

import (
	"net/netip"
	"sync/atomic"
)

// Directory holds the addresses of the cluster's Services.
type Directory struct {
	services atomic.Pointer[map[netip.Addr]string]
	leading  atomic.Pointer[map[string][]netip.Addr]
}

// Shared is the directory of an engine; registry is a sampler.Registry.
func Shared(registry interface {
	Shared(name string, construct func() any) any
}) *Directory {
	return registry.Shared("clusterips", func() any { return &Directory{} }).(*Directory)
}

// Set replaces what is known: NAMESPACE/NAME by address. It keeps the map.
func (d *Directory) Set(services map[netip.Addr]string) { d.services.Store(&services) }

// Lead replaces the addresses that lead to containers, by cgroup. It keeps the map.
func (d *Directory) Lead(addresses map[string][]netip.Addr) { d.leading.Store(&addresses) }

// To returns the addresses of the Services that select the pod of a cgroup. known is false if that is not known.
func (d *Directory) To(cgroup string) (addresses []netip.Addr, known bool) {
	if leading := d.leading.Load(); leading != nil {
		addresses, known = (*leading)[cgroup]
	}
	return addresses, known
}

// At returns the Service with an address, "" if none has it. known is false until the Services were listed.
func (d *Directory) At(address netip.Addr) (service string, known bool) {
	services := d.services.Load()
	if services == nil {
		return "", false
	}
	return (*services)[address], true
}
