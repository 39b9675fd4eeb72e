package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"
)

// loaded is one program as timed by the loader's own clock.
type loaded struct {
	Name         string `json:"name"`
	StartUs      int64  `json:"start_us"`
	TookUs       int64  `json:"took_us"`
	Instructions int    `json:"instructions"`
	Verified     uint32 `json:"verified_instructions"` // 0: the kernel does not report it
}

// load loads eBPF programs one after another, as a CNI agent does for a new pod.
func load(arguments []string) (any, error) {
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	sections := flags.Int("sections", 8, "programs")
	size := flags.Int("verified", 500_000, "approximate instructions that the verifier walks through per program")
	depth := flags.Int("branches", 8, "consecutive branches whose outcomes the verifier must distinguish")
	hold := flags.Bool("hold", false, "keep them loaded until standard input ends, as an agent does")
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	if *sections < 0 || *size < 1 || *size > 900_000 || *depth < 1 || *depth > 14 {
		return nil, fmt.Errorf("want --verified from 1 to 900000 and --branches from 1 to 14")
	}
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, err
	}
	// The first load probes the kernel's features, which does not count toward any program.
	kept := make([]*ebpf.Program, 0, *sections+1)
	defer func() {
		for _, program := range kept {
			_ = program.Close()
		}
	}()
	program, _, err := loadOne(0, 1, 1)
	if err != nil {
		return nil, err
	}
	kept = append(kept, program)
	done := make([]loaded, 0, *sections)
	for number := range *sections {
		program, one, err := loadOne(number, *size, *depth)
		if err != nil {
			return nil, err
		}
		done, kept = append(done, one), append(kept, program)
	}
	if !*hold {
		return map[string]any{"programs": done}, nil
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"programs": done}); err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return nil, err
}

func loadOne(number, size, depth int) (*ebpf.Program, loaded, error) {
	var one loaded
	spec := ebpf.ProgramSpec{
		Name: fmt.Sprintf("tail_lab_%d", number), Type: ebpf.SchedCLS, License: "Apache-2.0",
		Instructions: branchy(size, depth),
	}
	begin := time.Now()
	program, err := ebpf.NewProgramWithOptions(&spec, ebpf.ProgramOptions{LogDisabled: true})
	took := time.Since(begin)
	if err != nil {
		return nil, one, fmt.Errorf("loading program %d: %w", number, err)
	}
	one = loaded{
		Name: spec.Name, StartUs: begin.UnixMicro(), TookUs: took.Microseconds(), Instructions: len(spec.Instructions),
	}
	if info, err := program.Info(); err == nil {
		one.Verified, _ = info.VerifiedInstructions()
	}
	return program, one, nil
}
