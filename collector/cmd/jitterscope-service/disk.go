package main

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"
)

// disk is what the service does on disk: a journal that requests are written to, a checkpoint written at the same time,
// and files that it serves.
type disk struct {
	journal    string // a file; "": none
	recordKiB  int    // written per request
	sync       bool   // wait until it is durable
	checkpoint int    // KiB written and synced alongside the requests
	every      time.Duration
	files      string // a folder; "": none

	file    *os.File
	records atomic.Int64
}

const (
	ringBytes = 64 << 20 // then the journal is overwritten from the beginning
	chunk     = 64 << 10
)

func (d *disk) declare(flags *flag.FlagSet) {
	flags.StringVar(&d.journal, "journal", "", "file that each request is written to")
	flags.IntVar(&d.recordKiB, "record-kib", 16, "KiB that a request writes to it")
	flags.BoolVar(&d.sync, "sync", true, "whether a request waits until they are safe (fsync)")
	flags.IntVar(&d.checkpoint, "checkpoint-kib", 0, "KiB of a checkpoint written next to the journal; 0: none")
	flags.DurationVar(&d.every, "checkpoint-every", 3*time.Second, "from one checkpoint to the next")
	flags.StringVar(&d.files, "files", "", "folder of files that it serves by name")
}

func (d *disk) open() (err error) {
	if d.journal == "" {
		return nil
	}
	if d.file, err = os.OpenFile(d.journal, os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	if d.checkpoint > 0 {
		file, err := os.OpenFile(d.journal+".checkpoint", os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		go d.write(file)
	}
	return nil
}

// write writes checkpoints and syncs them.
func (d *disk) write(file *os.File) {
	content := make([]byte, d.checkpoint<<10)
	for range time.Tick(d.every) {
		if _, err := file.WriteAt(content, 0); err == nil {
			_ = file.Sync()
		}
	}
}

// record writes a request to the journal.
func (d *disk) record() error {
	if d.file == nil || d.recordKiB == 0 {
		return nil
	}
	record := make([]byte, d.recordKiB<<10)
	slots := max(1, int64(ringBytes/len(record)))
	if _, err := d.file.WriteAt(record, (d.records.Add(1)%slots)*int64(len(record))); err != nil {
		return err
	}
	if !d.sync {
		return nil
	}
	return d.file.Sync()
}

// serves responds with a file if one is requested.
func (d *disk) serves(w http.ResponseWriter, r *http.Request) bool {
	if d.files == "" || r.URL.Path == "/" {
		return false
	}
	file, err := os.Open(filepath.Join(d.files, filepath.Base(r.URL.Path)))
	if err != nil {
		http.NotFound(w, r)
		return true
	}
	defer func() { _ = file.Close() }()
	about, err := file.Stat()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return true
	}
	// Only the first part is sent, so that the network does not dominate the time; the rest is read and discarded.
	answer, rest := make([]byte, min(about.Size(), chunk)), make([]byte, chunk)
	for at := int64(0); at < about.Size(); at += chunk {
		part := answer
		if at > 0 {
			part = rest[:min(about.Size()-at, chunk)]
		}
		if _, err := file.ReadAt(part, at); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return true
		}
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	_, _ = w.Write(answer)
	return true
}
