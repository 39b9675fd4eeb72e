package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// patterns are names that do not exist, by the program that looks them up: an old NSS that probes the file system, and
// a program that looks for a stored session before it creates one.
var patterns = map[string]string{"nss": "%s/.%d_dOeSnotExist_.db", "session": "%s/session-%d.json"}

// lookups does what sdb_measureAccess of an old NSS does when its database is opened: it looks up names that do not
// exist in the database's folder, 10,000 of them or for 33 ms, and leaves a negative dentry for each. As in NSS, the
// numbers continue from one start to the next, so no name was looked up before.
func lookups(arguments []string) (any, error) {
	flags := flag.NewFlagSet("lookups", flag.ContinueOnError)
	folder := flags.String("dir", "", "folder of the names")
	count := flags.Int("count", 10_000, "maximum number of calls")
	most := flags.Duration("most", 33*time.Millisecond, "maximum time; 0: no limit")
	names := flags.String("names", "nss", "nss or session")
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	pattern := patterns[*names]
	if pattern == "" {
		return nil, fmt.Errorf("--names %q: want nss or session", *names)
	}
	if info, err := os.Stat(*folder); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("--dir %q is not a folder", *folder)
	}
	begin := time.Now()
	number := uint64(begin.UnixNano())
	var path []byte
	for made := range *count {
		// The clock is read only occasionally: reading it is not part of the fault.
		if *most > 0 && made%64 == 0 && time.Since(begin) > *most {
			break
		}
		path = fmt.Appendf(path[:0], pattern, *folder, number+uint64(made))
		if err := unix.Access(string(path), unix.F_OK); !errors.Is(err, unix.ENOENT) {
			return nil, fmt.Errorf("%s: %w, want that it does not exist", path, err)
		}
	}
	return nil, nil
}
