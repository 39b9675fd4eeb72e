package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const filesInFolder = 1000

// files creates real files and looks each up again: as many dentries as failing lookups leave, none of them negative.
func files(arguments []string) (any, error) {
	flags := flag.NewFlagSet("files", flag.ContinueOnError)
	folder := flags.String("dir", "", "an empty folder for them")
	count := flags.Int("count", 100_000, "how many")
	rate := flags.Float64("rate", 0, "per second; 0: as fast as possible")
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	begin := time.Now()
	for made := range *count {
		if *rate > 0 && made%64 == 0 {
			time.Sleep(time.Until(begin.Add(time.Duration(float64(made) / *rate * 1e9))))
		}
		in := filepath.Join(*folder, fmt.Sprintf("d%05d", made/filesInFolder))
		if made%filesInFolder == 0 {
			if err := os.Mkdir(in, 0o755); err != nil {
				return nil, err
			}
		}
		path := filepath.Join(in, fmt.Sprintf("f%d", made))
		fd, err := unix.Open(path, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
		if err != nil {
			return nil, &os.PathError{Op: "create", Path: path, Err: err}
		}
		if err := unix.Close(fd); err != nil {
			return nil, err
		}
		var found unix.Stat_t
		if err := unix.Stat(path, &found); err != nil {
			return nil, &os.PathError{Op: "stat", Path: path, Err: err}
		}
	}
	return map[string]any{"files": *count, "seconds": time.Since(begin).Seconds()}, nil
}
