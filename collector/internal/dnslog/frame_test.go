package dnslog

import (
	"testing"
	"time"
)

func TestUnwrap(t *testing.T) {
	var u Unwrapper
	for _, c := range []struct{ line, text, at string }{
		{"2023-10-10T10:02:36.571446123+02:00 stderr F [ERROR] x", "[ERROR] x", "2023-10-10T08:02:36.571446123Z"},
		{"2023-10-10T08:02:37Z stdout F ", "", "2023-10-10T08:02:37Z"},
		{`{"log":"[ERROR] \"x\"\n","stream":"stderr","time":"2023-10-10T08:02:36.571446123Z"}`, `[ERROR] "x"`, "2023-10-10T08:02:36.571446123Z"},
		{"[ERROR] plain", "[ERROR] plain", ""},
		{"2023-10-10T08:02:37.123Z [ERROR] of an old CoreDNS", "2023-10-10T08:02:37.123Z [ERROR] of an old CoreDNS", ""},
	} {
		text, at, ok := u.Unwrap([]byte(c.line))
		want, _ := time.Parse(time.RFC3339Nano, c.at)
		if !ok || string(text) != c.text || !at.Equal(want) {
			t.Errorf("%s: %q at %v", c.line, text, at)
		}
	}
}

func TestPartialLinesAreJoined(t *testing.T) {
	var u Unwrapper
	for _, part := range []string{"[ERROR] plugin/errors: ", "2 a.example. A: "} {
		if text, _, ok := u.Unwrap([]byte("2023-10-10T08:02:36Z stderr P " + part)); ok {
			t.Errorf("a part is a line: %q", text)
		}
	}
	for _, want := range []string{"[ERROR] plugin/errors: 2 a.example. A: i/o timeout", "i/o timeout"} { // the second one separately
		if text, _, ok := u.Unwrap([]byte("2023-10-10T08:02:36Z stderr F i/o timeout")); !ok || string(text) != want {
			t.Errorf("%q", text)
		}
	}
	for range 100 { // a line without end
		u.Unwrap([]byte("2023-10-10T08:02:36Z stderr P " + string(make([]byte, 8000))))
	}
	if len(u.joined) > maxJoined {
		t.Errorf("%d bytes are kept", len(u.joined))
	}
}
