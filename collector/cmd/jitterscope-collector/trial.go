package main

import (
	"flag"
	"io"
	"log/slog"
	"os"

	"github.com/jitterscope/jitterscope/collector/internal/agent"
	"github.com/jitterscope/jitterscope/collector/internal/settings"
)

// trial is what a collector that ships and keeps nothing needs.
type trial struct {
	settings *settings.Settings
	log      *slog.Logger
	place    agent.Place
}

// newTrial reads the settings of a command and creates a temporary directory for it, which remove deletes.
func newTrial(command string, arguments []string, stderr io.Writer, more func(*flag.FlagSet)) (*trial, error) {
	s, err := settings.Parse(command, arguments, os.LookupEnv, stderr, more)
	if err != nil {
		return nil, err
	}
	log, err := newLogger(s, stderr)
	if err != nil {
		return nil, err
	}
	enterNodeCgroupNamespace(s.ProcRoot, log)
	directory, err := os.MkdirTemp("", "jitterscope-"+command+"-")
	if err != nil {
		return nil, err
	}
	place := agent.Place{Directory: directory, SpoolID: [16]byte{1}, NextSequence: 1, Dropped: func() uint64 { return 0 }}
	return &trial{settings: s, log: log, place: place}, nil
}

func (t *trial) remove() { _ = os.RemoveAll(t.place.Directory) }
