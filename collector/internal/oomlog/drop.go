package oomlog

import (
	"bytes"
	"strconv"
)

// Drop is a process that made the kernel drop caches.
type Drop struct {
	Command string
	PID     int
	What    int // 1: pages, 2: dentries and inodes, 3: both
}

// ParseDrop parses "bash (1234): drop_caches: 2", which the kernel logs after dropping them (fs/drop_caches.c).
func ParseDrop(text []byte) (drop Drop, ok bool) {
	who, what, ok := bytes.Cut(text, []byte("): drop_caches: "))
	open := bytes.LastIndex(who, []byte(" ("))
	if !ok || open < 0 {
		return drop, false
	}
	var errs [2]error
	drop.Command = string(who[:open])
	drop.PID, errs[0] = strconv.Atoi(string(who[open+2:]))
	drop.What, errs[1] = strconv.Atoi(string(bytes.TrimSpace(what)))
	return drop, errs[0] == nil && errs[1] == nil
}
