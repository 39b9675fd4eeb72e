// jitterscope-evidence reads one packet capture and reports what it shows about DNS, as JSON lines;
// internal/evidence/README.md documents their format.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/evidence"
)

// Exit statuses.
const (
	exitUnreadable = 1
	exitUsage      = 2
)

// memoryTarget is where garbage collection becomes aggressive; all live memory is bounded well below it.
const memoryTarget = 120 << 20

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// failure is the last line of the output if there is no report.
type failure struct {
	Kind     string `json:"kind"`
	Type     string `json:"type"`
	Detail   string `json:"detail"`
	WhatToDo string `json:"what_to_do"`
}

func run(arguments []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("jitterscope-evidence", flag.ContinueOnError)
	flags.SetOutput(stderr)
	o := evidence.Options{Limits: evidence.DefaultLimits}
	every := flags.Int("progress-ms", 500, "time between progress lines (0: only one at the end)")
	flags.Int64Var(&o.Limits.InflatedBytes, "max-inflated-bytes", o.Limits.InflatedBytes, "stop after this much")
	flags.Float64Var(&o.Limits.Ratio, "max-ratio", o.Limits.Ratio, "stop if gzip inflates more than this")
	flags.IntVar(&o.Slowest, "slowest", 20_000, "query rows in the report")
	csv := flags.String("queries-csv", "", "write every query as a line into this file")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: jitterscope-evidence [flags] FILE   (pcap, pcapng, either in gzip; - is standard input)")
		flags.PrintDefaults()
	}
	if err := flags.Parse(arguments); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return exitUsage
	}
	if flags.NArg() != 1 || *every < 0 || o.Slowest < 0 || o.Slowest > 1_000_000 || o.Limits.InflatedBytes < 1 || o.Limits.Ratio < 1 {
		flags.Usage()
		return exitUsage
	}
	o.Every = time.Duration(*every) * time.Millisecond
	debug.SetMemoryLimit(memoryTarget)
	out := bufio.NewWriter(stdout)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	var writeError error
	o.Progress = func(p evidence.Progress) { writeError = errors.Join(lines.Encode(p), out.Flush()) }
	report, err := analyze(flags.Arg(0), *csv, stdin, o)
	if err != nil {
		fmt.Fprintln(stderr, "jitterscope-evidence:", err)
		_ = errors.Join(lines.Encode(explain(err)), out.Flush())
		return exitUnreadable
	}
	if err := errors.Join(writeError, lines.Encode(report), out.Flush()); err != nil {
		fmt.Fprintln(stderr, "jitterscope-evidence: writing the report:", err)
		return exitUnreadable
	}
	return 0
}

func analyze(path, csv string, stdin io.Reader, o evidence.Options) (report *evidence.Report, err error) {
	size := int64(-1)
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }() // only read
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
		stdin = file
	}
	if csv != "" {
		rows, err := os.Create(csv)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		o.QueriesCSV = rows
	}
	return evidence.Analyze(stdin, size, o)
}

func explain(err error) failure {
	var not *evidence.NotCaptureError
	switch {
	case errors.As(err, &not):
		return failure{"error", "not-a-capture", "This is not a packet capture: " + err.Error() + ".",
			"Give a file written by tcpdump -w, tshark -w or Wireshark (pcap or pcapng, also in gzip)."}
	case errors.Is(err, fs.ErrNotExist):
		return failure{"error", "no-such-file", err.Error() + ".", "Check the path."}
	}
	return failure{"error", "unreadable", err.Error() + ".", "Check that the file can be read, and that output files can be written."}
}
