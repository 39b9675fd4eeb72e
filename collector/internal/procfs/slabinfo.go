package procfs

import (
	"bytes"

	"github.com/jitterscope/jitterscope/collector/internal/decimal"
)

// SlabBytes is what the dentry cache and all inode caches hold, in bytes, including freed objects.
type SlabBytes struct{ Dentry, Inode uint64 }

// ParseSlabinfo reads /proc/slabinfo, version 2.x. Format: slabinfo(5).
func ParseSlabinfo(text []byte, pageBytes uint64) (slabs SlabBytes, ok bool) {
	for len(text) > 0 {
		line := text
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			line, text = text[:end], text[end+1:]
		} else {
			text = nil
		}
		name, rest := line, []byte(nil)
		if space := bytes.IndexByte(line, ' '); space > 0 {
			name, rest = line[:space], line[space:]
		}
		dentry := string(name) == "dentry"
		if !dentry && !IsInodeCache(name) {
			continue
		}
		cacheBytes, good := slabLine(rest, pageBytes)
		switch {
		case !good:
		case dentry:
			slabs.Dentry, ok = cacheBytes, true
		default:
			slabs.Inode += cacheBytes
		}
	}
	return slabs, ok
}

// slabLine parses what follows the name: pages per slab are the fifth number, slabs the tenth.
func slabLine(rest []byte, pageBytes uint64) (size uint64, ok bool) {
	var pages uint64
	for field := 1; field <= 10; field++ {
		for len(rest) > 0 && (rest[0] < '0' || rest[0] > '9') { // spaces, ": tunables", ": slabdata"
			rest = rest[1:]
		}
		var value uint64
		if value, rest, ok = decimal.Parse(rest); !ok {
			return 0, false
		}
		switch field {
		case 5:
			pages = value
		case 10:
			return value * pages * pageBytes, pages > 0
		}
	}
	return 0, false
}

// IsInodeCache reports whether a cache holds the inodes of a file system: "inode_cache", "ext4_inode_cache",
// "xfs_inode", "ceph_inode_info". It excludes what is attached to inodes: "inotify_inode_mark", "lsm_inode_cache",
// "jbd2_inode"; those are small, and share a cache with other objects of their size.
func IsInodeCache(name []byte) bool {
	switch string(name) {
	case "lsm_inode_cache", "jbd2_inode":
		return false
	}
	return bytes.HasSuffix(name, []byte("inode_cache")) || bytes.HasSuffix(name, []byte("_inode")) ||
		bytes.HasSuffix(name, []byte("_inode_info"))
}

// ParseSlabs reads the number at the beginning of a file below /sys/kernel/slab: "418 N0=418".
func ParseSlabs(text []byte) (value uint64, ok bool) {
	value, _, ok = decimal.Parse(text)
	return value, ok
}
