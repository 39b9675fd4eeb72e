// Command grow prints "ready", waits for a line, and then allocates as many MiB/s of memory as its argument says, until
// it is killed or its input ends.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	rate, err := strconv.ParseFloat(os.Args[1], 64)
	if err != nil {
		os.Exit(2)
	}
	fmt.Println("ready")
	input := bufio.NewScanner(os.Stdin)
	input.Scan()
	go func() {
		for input.Scan() {
		}
		os.Exit(0)
	}()
	var kept [][]byte
	began := time.Now()
	for grown := 0.0; ; time.Sleep(10 * time.Millisecond) {
		if wanted := rate * time.Since(began).Seconds(); wanted > grown {
			block := make([]byte, int((wanted-grown)*(1<<20)))
			for i := 0; i < len(block); i += 4096 {
				block[i] = 1
			}
			kept, grown = append(kept, block), wanted
		}
	}
}
