package netsock

import (
	"net"
	"net/netip"
	"os"
	"testing"
)

func TestLocalAgreesWithInterfaces(t *testing.T) {
	local, err := Local("/proc", os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		prefix, err := netip.ParsePrefix(address.String())
		if err != nil {
			t.Fatal(err)
		}
		if !local.Has(prefix.Addr().As16()) {
			t.Errorf("%s is missing", prefix.Addr())
		}
	}
	if local.Has(netip.MustParseAddr("192.0.2.1").As16()) {
		t.Error("an address of the documentation range is local")
	}
	if !local.Has(netip.MustParseAddr("127.5.6.7").As16()) {
		t.Error("127.5.6.7 is not local")
	}
}
