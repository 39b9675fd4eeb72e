// Command gcload collects garbage a few times a second; started with GODEBUG=gctrace=1 it says when.
package main

import (
	"os"
	"runtime"
	"time"
)

var kept = make([][]byte, 64)

func main() {
	for i := range kept {
		kept[i] = make([]byte, 512<<10)
	}
	go func() {
		// Stops the world for another reason than the collector's.
		for range time.Tick(3 * time.Millisecond) {
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
		}
	}()
	go func() { // ends when the test closes our standard input
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}()
	for i := 0; ; i++ {
		kept[i%len(kept)] = make([]byte, 512<<10)
		time.Sleep(2 * time.Millisecond)
	}
}
