package procfs

import "bytes"

// VMStat holds the fields of /proc/vmstat that the collector uses: counters since boot.
type VMStat struct {
	ScanDirect, ScanKswapd, StealDirect, StealKswapd  uint64 // pages
	AllocStalls, SlabsScanned, DropSlab, CompactStall uint64
	Seen                                              VMField // the fields that this kernel has
}

// VMField is a set of fields of VMStat.
type VMField uint16

// The fields of VMStat.
const (
	VMScanDirect VMField = 1 << iota
	VMScanKswapd
	VMStealDirect
	VMStealKswapd
	VMAllocStalls
	VMSlabsScanned
	VMDropSlab
	VMCompactStall
)

// Complete reports whether no more fields follow: compact_stall is the last one in the file, before counters that can
// be split.
func (s *VMStat) Complete() bool { return s.Seen&VMCompactStall != 0 }

// Add parses a piece of the file, of whole lines. Kernels split some counters by zone: until 4.7 "pgscan_direct_normal"
// and "pgsteal_kswapd_dma", since 4.10 "allocstall_normal"; they are summed.
func (s *VMStat) Add(text []byte) {
	for len(text) > 0 {
		key, value, ok, rest := nextPair(text, ' ')
		text = rest
		if ok {
			s.add(key, value)
		}
	}
}

func (s *VMStat) add(key []byte, value uint64) {
	switch string(key) {
	case "slabs_scanned":
		s.SlabsScanned += value
		s.Seen |= VMSlabsScanned
		return
	case "drop_slab":
		s.DropSlab += value
		s.Seen |= VMDropSlab
		return
	case "compact_stall":
		s.CompactStall += value
		s.Seen |= VMCompactStall
		return
	case "pgscan_direct_throttle": // not pages
		return
	}
	switch {
	case zoned(key, "pgscan_direct"):
		s.ScanDirect += value
		s.Seen |= VMScanDirect
	case zoned(key, "pgscan_kswapd"):
		s.ScanKswapd += value
		s.Seen |= VMScanKswapd
	case zoned(key, "pgsteal_direct"):
		s.StealDirect += value
		s.Seen |= VMStealDirect
	case zoned(key, "pgsteal_kswapd"):
		s.StealKswapd += value
		s.Seen |= VMStealKswapd
	case zoned(key, "allocstall"):
		s.AllocStalls += value
		s.Seen |= VMAllocStalls
	}
}

// zoned reports whether key is name or name followed by a zone.
func zoned(key []byte, name string) bool {
	if len(key) < len(name) || string(key[:len(name)]) != name {
		return false
	}
	rest := key[len(name):]
	return len(rest) == 0 || bytes.Equal(rest, zoneDMA) || bytes.Equal(rest, zoneDMA32) || bytes.Equal(rest, zoneNormal) ||
		bytes.Equal(rest, zoneHigh) || bytes.Equal(rest, zoneMovable) || bytes.Equal(rest, zoneDevice)
}

var (
	zoneDMA, zoneDMA32, zoneNormal    = []byte("_dma"), []byte("_dma32"), []byte("_normal")
	zoneHigh, zoneMovable, zoneDevice = []byte("_high"), []byte("_movable"), []byte("_device")
)
