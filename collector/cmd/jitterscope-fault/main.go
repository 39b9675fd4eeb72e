// jitterscope-fault produces the kernel-level parts of the faults that the labs need, and measures them itself: failing
// lookups as an old NSS causes them, many real files, and eBPF programs that keep the verifier busy.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
)

var commands = map[string]func(arguments []string) (any, error){
	"lookups": lookups,
	"files":   files,
	"repeat":  repeat,
	"load":    load,
}

func main() {
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "jitterscope-fault: want lookups, files, repeat or load")
		os.Exit(2)
	}
	result, err := commands[os.Args[1]](os.Args[2:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil && result != nil {
		err = json.NewEncoder(os.Stdout).Encode(result)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "jitterscope-fault %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}
