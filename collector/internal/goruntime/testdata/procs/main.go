// Command procs sets GOMAXPROCS to what each line of its standard input says.
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
