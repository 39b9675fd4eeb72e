package journalfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Places are where systemd keeps the system's journal: on disk, or in memory if it is not persistent.
var Places = []string{"/var/log/journal", "/run/log/journal"}

const lookEvery = time.Second

// Follower follows the system's journal in some folders.
type Follower struct {
	folders []string
	open    map[uint64]*file // by inode
	began   bool

	unreadable atomic.Int64
}

// New creates a Follower of the journals in these folders and in their direct subfolders, one for each machine id.
func New(folders []string) *Follower {
	return &Follower{folders: folders, open: make(map[uint64]*file)}
}

// Unreadable counts the values of entries that could not be decompressed: their file is damaged, or they exceed the
// limit. Any goroutine can call it.
func (f *Follower) Unreadable() int64 { return f.unreadable.Load() }

// ErrAbsent is returned by Follow if there is no journal.
var ErrAbsent = errors.New("no systemd journal found")

// Follow visits each entry written from the first call on, with a delay of some two seconds, until ctx ends. The next
// call continues where this one ended.
func (f *Follower) Follow(ctx context.Context, visit func(Entry)) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		if err := f.look(visit); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// look reads what was added to every journal, opens new ones, and drops rotated ones.
func (f *Follower) look(visit func(Entry)) error {
	current := make(map[uint64]string)
	for _, folder := range f.folders {
		for _, pattern := range []string{"/system.journal", "/*/system.journal"} {
			paths, _ := filepath.Glob(folder + pattern)
			for _, path := range paths {
				info, err := os.Stat(path)
				if err != nil {
					continue
				}
				if status, ok := info.Sys().(*syscall.Stat_t); ok {
					current[status.Ino] = path
				}
			}
		}
	}
	if len(current) == 0 && len(f.open) == 0 {
		return fmt.Errorf("%w: %s", ErrAbsent, strings.Join(f.folders, ", "))
	}
	for inode, one := range f.open {
		_, here := current[inode]
		if err := one.look(!here, visit); err != nil {
			f.drop(inode)
			if here {
				return err
			}
		}
		if !here { // rotated: its content has been read
			f.drop(inode)
		}
	}
	for inode, path := range current {
		if f.open[inode] != nil {
			continue
		}
		one, err := open(path, f.began, &f.unreadable) // a later one follows one that was read to its end
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoFile) {
			continue // just rotated, or just created
		}
		if err != nil {
			return err
		}
		f.open[inode] = one
	}
	f.began = true
	return nil
}

func (f *Follower) drop(inode uint64) {
	if one := f.open[inode]; one != nil {
		_ = one.close()
		delete(f.open, inode)
	}
}

// Close closes the files; the next Follow would start anew.
func (f *Follower) Close() {
	for inode := range f.open {
		f.drop(inode)
	}
}
