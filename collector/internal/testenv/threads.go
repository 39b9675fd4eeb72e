package testenv

import (
	"os"
	"runtime"
)

// EndWithThreads ends this process when it has the given number of threads.
func EndWithThreads(threads int) {
	started := make(chan struct{})
	for range threads {
		go func() {
			runtime.LockOSThread()
			started <- struct{}{}
			select {}
		}()
	}
	for range threads {
		<-started
	}
	os.Exit(0)
}
