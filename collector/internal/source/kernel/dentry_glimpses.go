package kernel

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/procfs"
)

// glimpses reads the number of negative dentries once more per tick, at a random moment. Names that exist for some tens
// of milliseconds, created by a program that starts at regular intervals, would otherwise miss the end of every tick or
// of none.
func (f *failedLookups) glimpses(ctx context.Context, path string) {
	held, err := procfs.Hold(path)
	if err != nil {
		return
	}
	defer held.Close()
	var buffer [128]byte
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if negative, ok := negativeIn(held, buffer[:]); ok && negative > f.glimpsed.Load() {
			f.glimpsed.Store(negative) // Sample might just have taken the previous one: then this counts for its tick
		}
		timer.Reset(50*time.Millisecond + rand.N(100*time.Millisecond))
	}
}

// negativeIn reads /proc/sys/fs/dentry-state. It does not allocate.
func negativeIn(held procfs.Held, buffer []byte) (int64, bool) {
	text, ok := held.Read(buffer)
	if !ok {
		return 0, false
	}
	state, ok := procfs.ParseDentryState(text)
	return int64(state.Negative), ok
}
