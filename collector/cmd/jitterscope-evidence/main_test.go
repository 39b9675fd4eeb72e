package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sample = "../../internal/evidence/testdata/loopback.pcap"

// lines runs the program and returns its exit status and output lines.
func lines(t *testing.T, arguments ...string) (int, []map[string]any) {
	t.Helper()
	var out, said bytes.Buffer
	status := run(arguments, strings.NewReader(""), &out, &said)
	var all []map[string]any
	for line := range strings.Lines(out.String()) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		all = append(all, object)
	}
	if status != 0 && said.Len() == 0 {
		t.Errorf("%v fails without a word to people", arguments)
	}
	return status, all
}

func TestReportIsTheLastLine(t *testing.T) {
	rows := filepath.Join(t.TempDir(), "queries.csv")
	status, all := lines(t, "--queries-csv", rows, sample)
	if status != 0 || len(all) != 2 || all[0]["kind"] != "progress" || all[1]["kind"] != "report" {
		t.Fatalf("status %d, %v", status, all)
	}
	size, err := os.Stat(sample)
	if err != nil {
		t.Fatal(err)
	}
	if want := float64(size.Size()); all[0]["bytes_read"] != want || all[0]["bytes_total"] != want {
		t.Errorf("%v", all[0])
	}
	report := all[1]
	if report["schema"] != "jitterscope-evidence/1" {
		t.Errorf("%v", report["schema"])
	}
	for key, value := range report {
		if value == nil {
			t.Errorf("%s is null", key)
		}
	}
	text, err := os.ReadFile(rows)
	if err != nil {
		t.Fatal(err)
	}
	if queries := report["totals"].(map[string]any)["queries"].(float64); strings.Count(string(text), "\n") != int(queries)+1 {
		t.Errorf("%d lines for %v queries", strings.Count(string(text), "\n"), queries)
	}
}

func TestFailures(t *testing.T) {
	text := filepath.Join(t.TempDir(), "dnsmasq.log")
	if err := os.WriteFile(text, []byte("Oct 11 14:50:57 dnsmasq[4811]: query[A] example.com from 10.0.0.83\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind      string
		status    int
		arguments []string
	}{
		{"not-a-capture", exitUnreadable, []string{text}},
		{"not-a-capture", exitUnreadable, []string{"-"}}, // an empty standard input
		{"no-such-file", exitUnreadable, []string{text + ".pcap"}},
		{"unreadable", exitUnreadable, []string{t.TempDir()}},
		{"", exitUsage, nil},
		{"", exitUsage, []string{sample, sample}},
		{"", exitUsage, []string{"--max-ratio", "0", sample}},
	} {
		status, all := lines(t, c.arguments...)
		if status != c.status {
			t.Errorf("%v: status %d", c.arguments, status)
		}
		if c.kind == "" {
			continue
		}
		if len(all) != 1 || all[0]["kind"] != "error" || all[0]["type"] != c.kind || all[0]["detail"] == "" || all[0]["what_to_do"] == "" {
			t.Errorf("%v: %v", c.arguments, all)
		}
	}
}
