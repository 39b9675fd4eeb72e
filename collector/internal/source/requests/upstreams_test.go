package requests

import (
	"net/netip"
	"testing"

	"github.com/jitterscope/jitterscope/collector/internal/clusterips"
	"github.com/jitterscope/jitterscope/collector/internal/requests"
)

// TestAServerBehindAnAddress: who listens on any address of a node gets what is sent to its own, but not to a Service's.
func TestAServerBehindAnAddress(t *testing.T) {
	called := requests.Called{Local: true}
	called.Namespace, called.Port = 1, 80
	called.Address = netip.MustParseAddr("10.96.0.7").As16()
	own, any := requests.Endpoint{Namespace: 1, Endpoint: called.Endpoint}, requests.Endpoint{Namespace: 1, Endpoint: called.Endpoint}
	any.Address = netip.IPv6Unspecified().As16()
	u := newUpstreams()
	for _, one := range []struct {
		behind    map[requests.Endpoint]key
		isService bool
		found     bool
	}{
		{map[requests.Endpoint]key{any: {"/web", 80}}, false, true},
		{map[requests.Endpoint]key{any: {"/web", 80}}, true, false},
		{map[requests.Endpoint]key{own: {"/web", 80}}, true, true},
	} {
		u.behind = one.behind
		if _, found := u.serverAt(called, one.isService); found != one.found {
			t.Errorf("%v: %v", one, found)
		}
	}
}

// TestTheServiceOfAnAddress: what was not listed yet is not reported, and neither is an address that no Service ever had.
func TestTheServiceOfAnAddress(t *testing.T) {
	var services clusterips.Directory
	at := func(text string) *upstream {
		one := &upstream{}
		one.Address = netip.MustParseAddr(text).As16()
		return one
	}
	web, outside := at("10.96.0.7"), at("203.0.113.9")
	for step, one := range []struct {
		listed map[netip.Addr]string
		moved  bool
		want   string
	}{
		{nil, false, ""},
		{map[netip.Addr]string{netip.MustParseAddr("10.96.0.7"): "shop/web"}, true, "shop/web"},
		{map[netip.Addr]string{netip.MustParseAddr("10.96.0.7"): "shop/web"}, false, "shop/web"},
		{map[netip.Addr]string{}, true, ""},
	} {
		if one.listed != nil {
			services.Set(one.listed)
		}
		if got := web.moved(&services); got != one.moved || web.service != one.want {
			t.Errorf("step %d: %v, %q", step, got, web.service)
		}
		if outside.moved(&services) {
			t.Errorf("step %d: an address outside is %q", step, outside.service)
		}
	}
}
