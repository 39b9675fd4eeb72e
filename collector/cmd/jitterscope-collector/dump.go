package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/jitterscope/jitterscope/collector/internal/agent"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
	"github.com/jitterscope/jitterscope/collector/internal/settings"
)

// dumpCommand prints batches instead of shipping them: for tests, and for a look at what a node would send.
func dumpCommand(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	seconds := 5.0
	s, err := settings.Parse("dump", arguments, os.LookupEnv, stderr, func(flags *flag.FlagSet) {
		flags.Float64Var(&seconds, "seconds", seconds, "how long to sample")
	})
	if err != nil {
		return err
	}
	log, err := newLogger(s, stderr)
	if err != nil {
		return err
	}
	enterNodeCgroupNamespace(s.ProcRoot, log)
	directory, err := os.MkdirTemp("", "jitterscope-dump-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(directory) }()

	output := bufio.NewWriter(stdout)
	print := func(_ uint64, data []byte) error {
		var decoded ingestpb.Batch
		if err := proto.Unmarshal(data, &decoded); err != nil {
			return fmt.Errorf("the batch does not decode: %w", err)
		}
		line, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(&decoded)
		if err != nil {
			return err
		}
		if _, err := output.Write(append(line, '\n')); err != nil {
			return err
		}
		return output.Flush()
	}
	place := agent.Place{Directory: directory, SpoolID: [16]byte{1}, NextSequence: 1, Dropped: func() uint64 { return 0 }}
	collector, err := agent.New(s, version, place, print, log)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds*float64(time.Second)))
	defer cancel()
	return collector.Run(ctx)
}
