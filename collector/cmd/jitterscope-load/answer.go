package main

import (
	"bytes"
	"strconv"
)

const maxHead = 16 << 10

var (
	blankLine     = []byte("\r\n\r\n")
	contentLength = []byte("content-length")
)

// answer is an HTTP/1.1 response being received: its head is kept, its body only counted. It needs a Content-Length.
type answer struct {
	firstNs  int64 // when the first byte arrived; 0: nothing yet
	head     []byte
	headDone bool
	bodyLeft int
	code     uint8
	broken   bool
}

func (a *answer) clear() {
	*a = answer{head: a.head[:0]}
}

func (a *answer) whole() bool { return a.headDone && a.bodyLeft == 0 }

// take adds data that was read; atNs is when the kernel received its last byte. Data beyond one response is an error.
func (a *answer) take(data []byte, atNs int64) {
	if a.firstNs == 0 {
		a.firstNs = atNs
	}
	if !a.headDone {
		a.head = append(a.head, data...)
		end := bytes.Index(a.head, blankLine)
		if end < 0 {
			a.broken = len(a.head) > maxHead
			return
		}
		data = a.head[end+len(blankLine):]
		a.headDone = true
		a.broken = !a.readHead(a.head[:end])
	}
	a.bodyLeft -= len(data)
	a.broken = a.broken || a.bodyLeft < 0
}

// readHead reads status and length; it returns false if the head cannot be parsed.
func (a *answer) readHead(head []byte) bool {
	status, fields, _ := bytes.Cut(head, []byte("\r\n"))
	words := bytes.Fields(status)
	if len(words) < 2 || !bytes.HasPrefix(words[0], []byte("HTTP/1.")) || len(words[1]) != 3 {
		return false
	}
	// By status class, using the QueryResult numbers with the equivalent meaning.
	switch words[1][0] {
	case '2', '3':
		a.code = resultNoError
	case '5':
		a.code = resultServFail
	default:
		a.code = resultOther
	}
	for line := range bytes.SplitSeq(fields, []byte("\r\n")) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		if bytes.EqualFold(bytes.TrimSpace(name), contentLength) {
			length, err := strconv.Atoi(string(bytes.TrimSpace(value)))
			a.bodyLeft = length
			return err == nil && length >= 0
		}
	}
	return false
}
