package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/agent"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

// checkCommand samples briefly and prints the state of every source.
func checkCommand(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	trial, err := newTrial("check", arguments, stderr, nil)
	if err != nil {
		return err
	}
	defer trial.remove()
	discard := func(uint64, []byte) error { return nil }
	collector, err := agent.New(trial.settings, version, trial.place, discard, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 1500*time.Millisecond)
	defer cancel()
	runError := collector.Run(ctx)
	for _, status := range collector.Engine.Status() {
		mark := map[ingestpb.SourceState]string{
			ingestpb.SourceState_SOURCE_STATE_ACTIVE:   "works",
			ingestpb.SourceState_SOURCE_STATE_DEGRADED: "works partially",
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
