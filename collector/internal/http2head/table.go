package http2head

import (
	"bytes"

	"golang.org/x/net/http2/hpack"
)

// remembered is how many entries of a dynamic table are kept: the newest that are of interest.
const remembered = 32

// defaultTable is how large a dynamic table can get unless it is changed, in bytes (RFC 9113, 6.5.2).
const defaultTable = 4096

// name is a header field that is of interest.
type name uint8

const (
	other name = iota
	method
	path
	status
	contentType
	grpcStatus
)

// field is a header field that is of interest.
type field struct {
	name   name
	cut    bool // the value goes on
	length uint8
	value  [mostValue]byte
}

func (f *field) text() []byte { return f.value[:f.length] }

// static returns the name of an entry of the static table (RFC 7541, appendix A), and its value.
func static(index uint32) (name, string) {
	switch {
	case index == 2:
		return method, "GET"
	case index == 3:
		return method, "POST"
	case index == 4:
		return path, "/"
	case index == 5:
		return path, "/index.html"
	case index >= 8 && index <= 14:
		return status, [...]string{"200", "204", "206", "304", "400", "404", "500"}[index-8]
	case index == 31:
		return contentType, ""
	}
	return other, ""
}

const staticEntries = 61

// table is what is known of a dynamic table. It needs no values but those of interest: an entry is named by how many
// were added after it.
type table struct {
	wanted  uint8 // which names are of interest in this direction, a bit each
	added   uint32
	most    uint32 // its size in bytes
	entries [remembered]struct {
		number uint32 // of the entry, from 1
		field
	}
	next int
}

func (t *table) reset() {
	*t = table{most: defaultTable, wanted: t.wanted}
}

// interest returns a name if it is of interest in this direction.
func (t *table) interest(n name) name {
	if t.wanted>>n&1 == 0 {
		return other
	}
	return n
}

// add adds an entry.
func (t *table) add(f *field) {
	t.added++
	if f.name == other {
		return
	}
	entry := &t.entries[t.next]
	entry.number, entry.field = t.added, *f
	t.next = (t.next + 1) % remembered
}

// find returns the field that an index means; nil if it is of no interest. It returns false if there is no such entry.
func (t *table) find(index uint32, scratch *field) (*field, bool) {
	if index == 0 {
		return nil, false
	}
	if index <= staticEntries {
		name, value := static(index)
		if t.interest(name) == other {
			return nil, true
		}
		scratch.name, scratch.cut = name, false
		scratch.length = uint8(copy(scratch.value[:], value))
		return scratch, true
	}
	back := index - staticEntries - 1
	if back >= t.added {
		return nil, false
	}
	for i := range t.entries {
		if t.entries[i].number == t.added-back {
			return &t.entries[i].field, true
		}
	}
	return nil, true
}

// literal is a name that encoders spell out, because the static table does not have it, or because they do not look there.
type literal struct {
	name           name
	plain, huffman []byte
}

var literals = [...]literal{newLiteral(contentType, "content-type"), newLiteral(grpcStatus, "grpc-status")}

// longestLiteral is the longest of them, in bytes.
const longestLiteral = 12

func newLiteral(n name, text string) literal {
	return literal{n, []byte(text), hpack.AppendHuffmanString(nil, text)}
}

// nameOf returns the name that a text spells.
func nameOf(text []byte, huffman bool) name {
	for i := range literals {
		spelled := literals[i].plain
		if huffman {
			spelled = literals[i].huffman
		}
		if bytes.Equal(text, spelled) {
			return literals[i].name
		}
	}
	return other
}
