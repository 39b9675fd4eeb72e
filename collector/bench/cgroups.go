package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/cgroup"
)

// testGroups are cgroups that the bench made. The janitor, a process of its own, removes them when remove is called and
// also when the bench dies: it waits for the end of its standard input.
type testGroups struct {
	janitor *exec.Cmd
	leash   io.WriteCloser
}

func makeGroups(root string, count int) (*testGroups, error) {
	layout, err := cgroup.Detect(root)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("jitterscope-bench-%d", os.Getpid())
	var tops []string
	for _, directory := range []string{layout.CPU, layout.CPUAcct, layout.Memory, layout.Pids} {
		if directory != "" {
			tops = append(tops, filepath.Join(directory, name))
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	groups := &testGroups{janitor: exec.Command(self, append([]string{"janitor"}, tops...)...)}
	groups.janitor.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is not for it
	groups.janitor.Stderr = os.Stderr
	if groups.leash, err = groups.janitor.StdinPipe(); err != nil {
		return nil, err
	}
	if err := groups.janitor.Start(); err != nil {
		return nil, err
	}
	for _, top := range tops {
		if err := fill(top, layout.Version, count); err != nil {
			return nil, errors.Join(err, groups.remove())
		}
	}
	return groups, nil
}

func fill(top string, version, count int) error {
	if err := os.Mkdir(top, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if version == 2 {
		for _, directory := range []string{filepath.Dir(top), top} {
			if err := os.WriteFile(filepath.Join(directory, "cgroup.subtree_control"), []byte("+cpu +memory +pids"), 0o644); err != nil {
				return err
			}
		}
	}
	for i := range count - 1 { // the top is one, too
		group := filepath.Join(top, fmt.Sprintf("group-%04d", i))
		if err := os.Mkdir(group, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		// As on a node full of containers, most have a limit.
		for file, value := range map[string]string{"cpu.cfs_quota_us": "200000", "cpu.max": "200000 100000"} {
			if _, err := os.Stat(filepath.Join(group, file)); err == nil {
				if err := os.WriteFile(filepath.Join(group, file), []byte(value), 0o644); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (g *testGroups) remove() error {
	return errors.Join(g.leash.Close(), g.janitor.Wait())
}

// janitor removes the cgroups below each top once its standard input ends.
func janitor(tops []string) {
	_, _ = io.Copy(io.Discard, bufio.NewReader(os.Stdin))
	for _, top := range tops {
		for range 50 { // a cgroup whose last process just ended may be busy for a moment
			if removeTree(top) == nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
}

func removeTree(directory string) error {
	entries, err := os.ReadDir(directory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeTree(filepath.Join(directory, entry.Name())); err != nil {
				return err
			}
		}
	}
	if err := syscall.Rmdir(directory); err != nil && !errors.Is(err, syscall.ENOENT) {
		return err
	}
	return nil
}
