package dnslog

import (
	"bytes"
	"encoding/json"
	"time"
)

// maxJoined bounds a line that the container runtime wrote in parts.
const maxJoined = 16 << 10

// Unwrapper removes a container runtime's wrapping from lines. A log has one format, but it is detected on each line,
// so that nothing must be known in advance. The zero value is ready.
type Unwrapper struct {
	joined []byte
}

// Unwrap returns the text that a program wrote and when, the zero time if the line does not say. It returns false for a
// part of a line whose end is still to come. text is valid until the next call.
func (u *Unwrapper) Unwrap(line []byte) (text []byte, at time.Time, ok bool) {
	if bytes.HasPrefix(line, []byte(`{"log":"`)) {
		return unwrapDocker(line)
	}
	text, at, partial, ok := unwrapCRI(line)
	switch {
	case !ok:
		return line, time.Time{}, true
	case partial:
		if room := maxJoined - len(u.joined); room > 0 {
			u.joined = append(u.joined, text[:min(room, len(text))]...)
		}
		return nil, at, false
	case len(u.joined) > 0:
		u.joined = append(u.joined, text[:min(len(text), maxJoined)]...)
		text, u.joined = u.joined, u.joined[:0]
	}
	return text, at, true
}

// unwrapCRI reads "2023-10-10T10:02:36.571446123+02:00 stderr F text", the format of the container runtime interface
// (kubernetes/kubernetes, pkg/kubelet/kuberuntime/logs). P instead of F: the line continues in the next one.
func unwrapCRI(line []byte) (text []byte, at time.Time, partial, ok bool) {
	stamp, rest, ok := bytes.Cut(line, []byte{' '})
	if !ok || len(stamp) < 20 || len(stamp) > 40 || stamp[4] != '-' || stamp[10] != 'T' {
		return nil, at, false, false
	}
	stream, rest, ok := bytes.Cut(rest, []byte{' '})
	if !ok || (string(stream) != "stderr" && string(stream) != "stdout") {
		return nil, at, false, false
	}
	tags, text, ok := bytes.Cut(rest, []byte{' '})
	if !ok {
		return nil, at, false, false
	}
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	return text, at, len(tags) > 0 && tags[0] == 'P', err == nil
}

// unwrapDocker reads a line of Docker's json-file driver.
func unwrapDocker(line []byte) ([]byte, time.Time, bool) {
	var entry struct {
		Log  string    `json:"log"`
		Time time.Time `json:"time"`
	}
	if !mayBeError(line) { // most lines: saves the decoding
		return nil, time.Time{}, true
	}
	if err := json.Unmarshal(line, &entry); err != nil {
		return line, time.Time{}, true
	}
	return bytes.TrimRight([]byte(entry.Log), "\r\n"), entry.Time, true
}

// mayBeError is true for every wrapped line that Classify would call an error, and for few others.
func mayBeError(line []byte) bool {
	for _, sign := range []string{"[ERROR]", "[FATAL]", "panic", "error", "dnsmasq[", "timed out", `"log":"E`, `"log":"F`} {
		if bytes.Contains(line, []byte(sign)) {
			return true
		}
	}
	for _, begin := range dnsmasqErrors {
		if bytes.Contains(line, []byte(begin)) {
			return true
		}
	}
	return false
}
