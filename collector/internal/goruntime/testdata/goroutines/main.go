// Command goroutines keeps as many waiting goroutines as each line of its standard input says, or with a negative
// number that many processors, and answers with what the runtime counts.
package main

import (
	"fmt"
	"runtime"
	"time"
)

func main() {
	stop := make(chan struct{})
	waiting := 0
	fmt.Println("ready")
	for {
		var wanted int
		if _, err := fmt.Scanln(&wanted); err != nil {
			return
		}
		if wanted < 0 {
			runtime.GOMAXPROCS(-wanted)
			fmt.Println(runtime.NumGoroutine())
			continue
		}
		for ; waiting < wanted; waiting++ {
			go func() { <-stop }()
		}
		for ; waiting > wanted; waiting-- {
			stop <- struct{}{}
		}
		for runtime.NumGoroutine() != wanted+1 { // the stopped ones are about to end
			time.Sleep(time.Millisecond)
		}
		fmt.Println(runtime.NumGoroutine())
	}
}
