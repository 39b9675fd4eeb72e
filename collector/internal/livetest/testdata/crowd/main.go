// Command crowd listens on a TCP address, keeps three threads busy on one CPU, and has others that come and go. It ends
// when its standard input is closed.
package main

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	var one unix.CPUSet
	one.Set(0)
	if err := unix.SchedSetaffinity(0, &one); err != nil { // threads that start later inherit it
		fmt.Println(err)
		os.Exit(1)
	}
	runtime.GOMAXPROCS(8)
	if _, err := net.Listen("tcp", os.Args[1]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for range 3 {
		go func() {
			runtime.LockOSThread()
			for {
				burn(time.Second)
			}
		}()
	}
	go func() {
		for {
			go func() { // ends with its thread
				runtime.LockOSThread()
				burn(20 * time.Millisecond)
			}()
			time.Sleep(1500 * time.Millisecond)
		}
	}()
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1))
}

func burn(duration time.Duration) {
	for begun := time.Now(); time.Since(begun) < duration; {
	}
}
