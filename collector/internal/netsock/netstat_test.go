package netsock

import (
	"os"
	"testing"
)

const netstatText = `TcpExt: SyncookiesSent ListenOverflows ListenDrops
TcpExt: 1 29 31
IpExt: InNoRoutes ListenOverflows
IpExt: 7 8
`

func TestNetstatValue(t *testing.T) {
	for _, c := range []struct {
		group, name string
		value       uint64
		ok          bool
	}{
		{"TcpExt:", "ListenOverflows", 29, true}, {"TcpExt:", "SyncookiesSent", 1, true}, {"TcpExt:", "ListenDrops", 31, true},
		{"IpExt:", "ListenOverflows", 8, true}, {"TcpExt:", "ListenOver", 0, false}, {"MPTcpExt:", "ListenDrops", 0, false},
	} {
		if value, ok := NetstatValue([]byte(netstatText), c.group, c.name); value != c.value || ok != c.ok {
			t.Errorf("%s %s is %d, %v", c.group, c.name, value, ok)
		}
	}
	text, err := os.ReadFile("/proc/net/netstat")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := NetstatValue(text, "TcpExt:", "ListenOverflows"); !ok {
		t.Error("this kernel's own table is not understood")
	}
	if allocations := testing.AllocsPerRun(10, func() { NetstatValue(text, "TcpExt:", "ListenOverflows") }); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func FuzzNetstatValue(f *testing.F) {
	f.Add([]byte(netstatText))
	f.Fuzz(func(_ *testing.T, text []byte) { NetstatValue(text, "TcpExt:", "ListenOverflows") })
}
