package gometrics

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
)

// maxLineBytes bounds a line of a page; a page with a longer one is rejected.
const maxLineBytes = 64 << 10

// EachSample calls visit with the samples of a page in the text exposition format, version 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/). labels is the text between the braces, value the text
// after them. All three are valid until visit returns. Lines that are not samples are skipped.
func EachSample(page io.Reader, visit func(name, labels, value []byte)) error {
	lines := bufio.NewScanner(page)
	lines.Buffer(make([]byte, 4096), maxLineBytes)
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		end := bytes.IndexAny(line, "{ ")
		if end <= 0 {
			continue
		}
		name, rest := line[:end], line[end:]
		var labels []byte
		if rest[0] == '{' {
			length := labelsEnd(rest)
			if length < 0 {
				continue
			}
			labels, rest = rest[1:length], rest[length+1:]
		}
		rest = bytes.TrimLeft(rest, " ")
		value, _, _ := bytes.Cut(rest, []byte{' '}) // a timestamp can follow
		visit(name, labels, value)
	}
	return lines.Err()
}

// labelsEnd returns the position of the closing brace, -1 if there is none: values are quoted and can contain braces.
func labelsEnd(text []byte) int {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == '}' && !quoted:
			return i
		}
	}
	return -1
}

// Label returns the value of a label as written, nil if it is absent.
func Label(labels []byte, name string) []byte {
	for len(labels) > 0 {
		key, rest, _ := bytes.Cut(labels, []byte{'='})
		rest, quoted := bytes.CutPrefix(bytes.TrimLeft(rest, " \t"), []byte{'"'})
		if !quoted {
			return nil
		}
		end := 0
		for end < len(rest) && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(rest) {
			return nil
		}
		if string(bytes.Trim(key, ", \t")) == name {
			return rest[:end]
		}
		labels = rest[end+1:]
	}
	return nil
}

// Number parses a sample's value.
func Number(text []byte) (float64, bool) {
	value, err := strconv.ParseFloat(string(text), 64)
	return value, err == nil
}
