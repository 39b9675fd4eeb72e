// Command procs sets GOMAXPROCS to the value of each line of its standard input.
package main

import (
	"fmt"
	"runtime"
)

func main() {
	fmt.Println("ready")
	for {
		var value int
		if _, err := fmt.Scanln(&value); err != nil {
			return
		}
		runtime.GOMAXPROCS(value)
		fmt.Println("ready")
	}
}
