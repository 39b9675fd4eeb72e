package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/jitterscope/jitterscope/collector/internal/agent"
	"github.com/jitterscope/jitterscope/collector/internal/ingestpb"
)

// dumpCommand prints batches instead of shipping them, for tests and to inspect what a node would send.
func dumpCommand(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	seconds := 5.0
	trial, err := newTrial("dump", arguments, stderr, func(flags *flag.FlagSet) {
		flags.Float64Var(&seconds, "seconds", seconds, "how long to sample")
	})
	if err != nil {
		return err
	}
	defer trial.remove()

	output := bufio.NewWriter(stdout)
	print := func(_ uint64, data []byte) error {
		var decoded ingestpb.Batch
		if err := proto.Unmarshal(data, &decoded); err != nil {
			return fmt.Errorf("the batch cannot be decoded: %w", err)
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
	collector, err := agent.New(trial.settings, version, trial.place, print, trial.log)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds*float64(time.Second)))
	defer cancel()
	return collector.Run(ctx)
}
