// Command evidence measures jitterscope-evidence beside a plain read of the same file, in the same run: megabytes of the
// file for each second of CPU time, the time on the clock, and peak memory.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/evidence"
)

// The limits that the project promises.
const (
	minMegabytesPerSecond = 100
	maxRSSMiB             = 200
)

// result is one line of the table.
type result struct {
	Format       string  `json:"format"`
	Megabytes    float64 `json:"megabytes"` // inflated
	Packets      uint64  `json:"packets"`
	FloorMBs     float64 `json:"plain_read_mb_per_s"`
	CPUMBs       float64 `json:"mb_per_cpu_s"`
	WallMBs      float64 `json:"mb_per_s"`
	PeakRSSMiB   float64 `json:"peak_rss_mib"`
	Queries      uint64  `json:"queries"`
	RightQueries bool    `json:"right_queries"`
}

func main() {
	program := flag.String("program", "../bin/jitterscope-evidence", "the built program")
	from := flag.String("base", "internal/evidence/testdata/loopback.pcap", "the capture to repeat")
	megabytes := flag.Int("megabytes", 1000, "size of the files")
	formats := flag.String("formats", "pcap,pcapng,pcap.gz", "kinds of files")
	folder := flag.String("folder", os.TempDir(), "where the files are made")
	asJSON := flag.Bool("json", false, "print one JSON object a line instead of a table")
	flag.Parse()
	kept, err := run(*program, *from, *folder, strings.Split(*formats, ","), *megabytes, *asJSON)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	if err != nil || !kept {
		os.Exit(1)
	}
}

func run(program, from, folder string, formats []string, megabytes int, asJSON bool) (kept bool, err error) {
	small, err := reportOf(exec.Command(program, from))
	if err != nil {
		return false, err
	}
	base, err := readBase(from)
	if err != nil {
		return false, err
	}
	if folder, err = os.MkdirTemp(folder, "jitterscope-bench-"); err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(folder) }() // nothing else is in there
	kept = true
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	if !asJSON {
		fmt.Fprintln(table, "file\tMB\tpackets\tplain read MB/s\tMB per CPU s\tMB/s\tpeak RSS MiB\tqueries\t")
	}
	for _, format := range formats {
		r, err := measure(program, base, filepath.Join(folder, "file."+format), format, megabytes, small)
		if err != nil {
			return false, err
		}
		kept = kept && r.RightQueries && r.CPUMBs >= minMegabytesPerSecond && r.PeakRSSMiB < maxRSSMiB
		if asJSON {
			err = json.NewEncoder(os.Stdout).Encode(r)
		} else {
			_, err = fmt.Fprintf(table, "%s\t%.0f\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t%d\t\n",
				r.Format, r.Megabytes, r.Packets, r.FloorMBs, r.CPUMBs, r.WallMBs, r.PeakRSSMiB, r.Queries)
		}
		if err != nil {
			return false, err
		}
	}
	return kept, table.Flush()
}

func measure(program string, base *base, path, format string, megabytes int, small *evidence.Report) (*result, error) {
	repetitions, err := base.write(path, format, megabytes)
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(path) }()       // the folder goes as well
	if _, err := readThrough(path); err != nil { // the first read may come from the disk
		return nil, err
	}
	floor, err := readThrough(path)
	if err != nil {
		return nil, err
	}
	command := exec.Command(program, path)
	started := time.Now()
	report, err := reportOf(command)
	if err != nil {
		return nil, err
	}
	wall := time.Since(started)
	used := command.ProcessState.SysUsage().(*syscall.Rusage)
	inflated := float64(report.File.InflatedBytes) / 1e6
	cpu := time.Duration(used.Utime.Nano() + used.Stime.Nano())
	return &result{
		Format: format, Megabytes: inflated, Packets: report.File.Packets, FloorMBs: float64(report.File.Bytes) / 1e6 / floor.Seconds(),
		CPUMBs: inflated / cpu.Seconds(), WallMBs: inflated / wall.Seconds(), PeakRSSMiB: float64(used.Maxrss) / 1024,
		Queries: report.Totals.Queries, RightQueries: report.Totals.Queries == small.Totals.Queries*uint64(repetitions) &&
			report.Totals.Answers == small.Totals.Answers*uint64(repetitions),
	}, nil
}

// reportOf runs the program and gives its last line.
func reportOf(command *exec.Cmd) (*evidence.Report, error) {
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, os.Stderr
	if err := command.Run(); err != nil {
		return nil, err
	}
	var last []byte
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, 256<<20)
	for lines.Scan() {
		last = append(last[:0], lines.Bytes()...)
	}
	report := &evidence.Report{}
	return report, json.Unmarshal(last, report)
}
