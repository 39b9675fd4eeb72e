package node

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/batch"
	"github.com/jitterscope/jitterscope/collector/internal/catalogue"
	"github.com/jitterscope/jitterscope/collector/internal/procfs"
	"github.com/jitterscope/jitterscope/collector/internal/sampler"
	"github.com/jitterscope/jitterscope/collector/internal/source"
)

func init() { source.Register("watermarks", func() sampler.Source { return &watermarks{} }) }

// watermarks samples how far the node is from having to reclaim memory, and records where the watermarks are.
type watermarks struct {
	registry *sampler.Registry
	file     procfs.Held
	pace     sampler.Pace
	margin   batch.Slot
	page     float64
	zones    [maxZones]procfs.Zone
	buffer   []byte // of the file's size on this machine
	stated   time.Time
}

const (
	maxZones             = 64 // of all NUMA nodes
	zoneinfoMost         = 1 << 20
	stateWatermarksEvery = 10 * time.Second
)

func (w *watermarks) Name() string { return "watermarks" }

func (w *watermarks) Start(_ context.Context, registry *sampler.Registry) error {
	w.registry = registry
	path := filepath.Join(registry.Roots.Proc, "zoneinfo")
	text, err := os.ReadFile(path)
	if err == nil {
		w.file, err = procfs.Hold(path)
	}
	if err != nil {
		return &sampler.Unavailable{Detail: err.Error(), Needs: "a readable /proc/zoneinfo"}
	}
	if zones := procfs.ParseZones(text, w.zones[:]); len(zones) == 0 {
		w.file.Close()
		return &sampler.Unavailable{Detail: "/proc/zoneinfo names no zone with memory", Needs: "Linux 3.9"}
	}
	w.buffer = make([]byte, min(len(text)+len(text)/8+1024, zoneinfoMost))
	w.page = float64(os.Getpagesize())
	w.margin = registry.Series(batch.Node, catalogue.VmLowMarginBytes)
	return nil
}

func (w *watermarks) Sample(tick sampler.Tick, recorder *sampler.Recorder) {
	if !w.pace.Begin(tick, 2) {
		return
	}
	text, ok := readAll(w.file, w.buffer)
	var pages int64
	if ok {
		pages, ok = procfs.LowMargin(procfs.ParseZones(text, w.zones[:]))
	}
	w.pace.End()
	if ok {
		recorder.Set(w.margin, float64(pages)*w.page)
	}
}

// Discover records the watermarks as a fact.
func (w *watermarks) Discover(context.Context) {
	if time.Since(w.stated) < stateWatermarksEvery {
		return
	}
	w.stated = time.Now()
	proc := w.registry.Roots.Proc
	if text, err := os.ReadFile(filepath.Join(proc, "zoneinfo")); err == nil {
		if fact, ok := watermarkFact(proc, text); ok {
			w.registry.Fact(batch.Node, catalogue.FactNodeWatermarks, fact)
		}
	}
}

func (w *watermarks) Close() error {
	w.file.Close()
	return nil
}

// watermarkFact is the JSON of the fact node.watermarks.
func watermarkFact(proc string, zoneinfo []byte) (string, bool) {
	type zone struct {
		Name string `json:"name"`
		Min  uint64 `json:"min"`
		Low  uint64 `json:"low"`
		High uint64 `json:"high"`
	}
	fact := struct {
		MinFreeKiB  *int64 `json:"min_free_kbytes,omitempty"`
		ScaleFactor *int64 `json:"watermark_scale_factor,omitempty"` // since Linux 4.6
		Zones       []zone `json:"zones"`
	}{MinFreeKiB: procfs.Sysctl(proc, "vm/min_free_kbytes"), ScaleFactor: procfs.Sysctl(proc, "vm/watermark_scale_factor")}
	zones := procfs.ParseZones(zoneinfo, make([]procfs.Zone, maxZones))
	for i := range zones {
		z := &zones[i]
		name := z.ZoneName()
		if z.Node > 0 {
			name = "node" + strconv.Itoa(z.Node) + " " + name
		}
		fact.Zones = append(fact.Zones, zone{Name: name, Min: z.Min, Low: z.Low, High: z.High})
	}
	text, err := json.Marshal(fact)
	return string(text), err == nil && len(zones) > 0
}
