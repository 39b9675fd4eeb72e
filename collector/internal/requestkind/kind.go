// Package requestkind determines the kind of a request from its first bytes: method and route of HTTP/1, command of
// Redis, statement of PostgreSQL or MySQL. Nothing else is kept: ids in routes, query strings and values are left out.
package requestkind

import "bytes"

// Most is the longest kind, in bytes.
const Most = 48

// Append appends the kind of the request that begins with head: "GET /users/{id}", "redis GET", "postgresql SELECT". It
// appends nothing for unknown protocols. into has room for Most bytes; the kind is truncated there.
func Append(into, head []byte) []byte {
	if out := appendHTTP(into, head); len(out) > len(into) {
		return out
	}
	if out := appendRedis(into, head); len(out) > len(into) {
		return out
	}
	if out := appendPostgreSQL(into, head); len(out) > len(into) {
		return out
	}
	return appendMySQL(into, head)
}

// room appends what fits.
func room(into []byte, text ...byte) []byte {
	return append(into, text[:min(len(text), max(0, Most-len(into)))]...)
}

func roomString(into []byte, text string) []byte {
	return append(into, text[:min(len(text), max(0, Most-len(into)))]...)
}

// appendRedis parses a command as an array of strings (RESP): "*2\r\n$3\r\nGET\r\n…".
func appendRedis(into, head []byte) []byte {
	rest, ok := number(head, '*')
	if !ok {
		return into
	}
	if rest, ok = number(rest, '$'); !ok {
		return into
	}
	word := rest
	if end := bytes.IndexByte(rest, '\r'); end >= 0 {
		word = rest[:end]
	}
	into = roomString(into, "redis ")
	return roomString(into, known(redisCommands, word))
}

// number parses a sign, up to nine digits and the end of the line.
func number(text []byte, sign byte) (rest []byte, ok bool) {
	if len(text) == 0 || text[0] != sign {
		return nil, false
	}
	digits := 1
	for digits < len(text) && digits <= 9 && text[digits] >= '0' && text[digits] <= '9' {
		digits++
	}
	if digits == 1 || len(text) < digits+2 || text[digits] != '\r' || text[digits+1] != '\n' {
		return nil, false
	}
	return text[digits+2:], true
}

// known returns the word of a list that equals text, ignoring case; "other" if there is none.
func known(list []string, text []byte) string {
	for _, word := range list {
		if len(word) == len(text) && equalFold(word, text) {
			return word
		}
	}
	return other
}

const other = "other"

// equalFold compares a word in upper case with text of the same length.
func equalFold(upper string, text []byte) bool {
	for i := range len(upper) {
		c := text[i]
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		if c != upper[i] {
			return false
		}
	}
	return true
}
