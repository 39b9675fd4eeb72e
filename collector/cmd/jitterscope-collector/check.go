package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/agent"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/settings"
)

// checkCommand samples for a moment and prints the state of every source.
func checkCommand(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	s, err := settings.Parse("check", arguments, os.LookupEnv, stderr, nil)
	if err != nil {
		return err
	}
	log, err := newLogger(s, stderr)
	if err != nil {
		return err
	}
	enterNodeCgroupNamespace(s.ProcRoot, log)
	directory, err := os.MkdirTemp("", "jitterscope-check-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(directory) }()
	place := agent.Place{Directory: directory, SpoolID: [16]byte{1}, NextSequence: 1, Dropped: func() uint64 { return 0 }}
	discard := func(uint64, []byte) error { return nil }
	collector, err := agent.New(s, version, place, discard, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
	defer cancel()
	runError := collector.Run(ctx)
	for _, status := range collector.Engine.Status() {
		mark := map[ingestpb.SourceState]string{
			ingestpb.SourceState_SOURCE_STATE_ACTIVE:   "works",
			ingestpb.SourceState_SOURCE_STATE_DEGRADED: "works in part",
		}[status.State]
		if mark == "" {
			mark = "not available"
		}
		line := fmt.Sprintf("%-16s %s", status.Name, mark)
		if status.Detail != "" {
			line += ": " + status.Detail
		}
		if status.Needs != "" {
			line += "; needs " + status.Needs
		}
		if _, err := fmt.Fprintln(stdout, line); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(collector.Engine.Off())) {
		if _, err := fmt.Fprintf(stdout, "%-16s off: %s\n", name, collector.Engine.Off()[name]); err != nil {
			return err
		}
	}
	return runError
}
