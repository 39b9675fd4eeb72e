// Command gcload runs a few GC cycles per second; started with GODEBUG=gctrace=1 it prints when.
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
		// Stops the world for a reason other than GC.
		for range time.Tick(3 * time.Millisecond) {
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
		}
	}()
	go func() { // ends when the test closes standard input
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}()
	for i := 0; ; i++ {
		kept[i%len(kept)] = make([]byte, 512<<10)
		time.Sleep(2 * time.Millisecond)
	}
}
