package oomlog

import (
	"os"
	"slices"
	"testing"
	"time"
)

func TestParseDrop(t *testing.T) {
	for text, want := range map[string]Drop{
		"bash (1234): drop_caches: 2":         {"bash", 1234, 2},
		"a (b) c (77): drop_caches: 3\n":      {"a (b) c", 77, 3},
		"tee (x): drop_caches: 3":             {},
		"drop_caches: 3":                      {},
		"oom-kill:constraint=CONSTRAINT_NONE": {},
	} {
		drop, ok := ParseDrop([]byte(text))
		if ok != (want.PID != 0) || ok && drop != want {
			t.Errorf("%q: %+v, %v", text, drop, ok)
		}
	}
}

// TestOtherLinesAreHandedOut uses a pipe instead of the device: it also returns one record per read.
func TestOtherLinesAreHandedOut(t *testing.T) {
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var others []string
	log := &Log{file: reader, Others: func(text []byte) { others = append(others, string(text)) }}
	done := make(chan error)
	go func() { done <- log.Each(func(kill Kill) { t.Errorf("a kill: %+v", kill) }) }()
	for _, record := range []string{
		"6,339,5140900,-;bash (1234): drop_caches: 2\n",
		"14,340,5140901,-;a program (1): drop_caches: 2\n", // written by a program itself
	} {
		if _, err := writer.WriteString(record); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // the next record is the next read
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	<-done
	others = slices.DeleteFunc(others, func(text string) bool { return text == "" })
	if len(others) != 1 {
		t.Fatalf("handed out %q", others)
	}
	if drop, ok := ParseDrop([]byte(others[0])); !ok || drop != (Drop{"bash", 1234, 2}) {
		t.Errorf("%+v", drop)
	}
}
