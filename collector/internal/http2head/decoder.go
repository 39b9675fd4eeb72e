package http2head

import "bytes"

const (
	mostValue   = 64 // bytes of a value that are kept
	mostEncoded = 64 // of its encoded form
	mostInteger = 1 << 24
)

type step uint8

const (
	atField step = iota
	atIndex
	atSizeUpdate
	atNameLength
	inName
	atValueLength
	inValue
)

// decoder follows the header blocks of one direction of a connection byte by byte (RFC 7541). Values that are not of
// interest are skipped.
type decoder struct {
	table
	broken bool // nothing is known any more

	step    step
	field   field
	indexed bool // the field is an index and nothing else
	adds    bool // it is added to the table
	integer integer
	huffman bool
	left    uint32 // bytes of the current text that are still to come
	least   uint32 // bounds of the size of the entry
	largest uint32
	encoded [mostEncoded]byte
	length  int    // of it that has come
	size    uint32 // of all of the name or value
	scratch field
}

func (d *decoder) reset() {
	d.table.reset()
	d.broken, d.step, d.field, d.scratch = false, atField, field{}, field{}
}

// integer is a number that is being read (RFC 7541, 5.1).
type integer struct {
	value uint32
	shift uint8
}

// begin takes the first bits of a number, and returns whether that is all of it.
func (n *integer) begin(b byte, bits uint8) bool {
	mask := byte(1)<<bits - 1
	n.value, n.shift = uint32(b&mask), 0
	return b&mask != mask
}

// next takes another byte; done: it is the last. ok is false for a number that is too large.
func (n *integer) next(b byte) (done, ok bool) {
	if n.shift > 21 {
		return false, false
	}
	n.value += uint32(b&0x7f) << n.shift
	n.shift += 7
	return b&0x80 == 0, n.value < mostInteger
}

// decode takes a part of a block and passes each field of interest to found.
func (d *decoder) decode(part []byte, found func(*field)) {
	for len(part) > 0 && !d.broken {
		if d.step == inName || d.step == inValue {
			part = d.text(part, found)
			continue
		}
		d.take(part[0], found)
		part = part[1:]
	}
}

// take takes a byte that belongs to no text.
func (d *decoder) take(b byte, found func(*field)) {
	done, ok := true, true
	switch d.step {
	case atField:
		done = d.begin(b)
	case atNameLength, atValueLength:
		if d.integer.shift == fresh {
			d.huffman = b&0x80 != 0
			done = d.integer.begin(b, 7)
			break
		}
		done, ok = d.integer.next(b)
	default:
		done, ok = d.integer.next(b)
	}
	if !ok {
		d.broken = true
	} else if done {
		d.number(found)
	}
}

// fresh is the shift of a number of which nothing has been read.
const fresh = 0xff

// begin takes the first byte of a field, and returns whether its number is complete.
func (d *decoder) begin(b byte) bool {
	d.step, d.indexed, d.adds = atIndex, false, false
	switch {
	case b&0x80 != 0:
		d.indexed = true
		return d.integer.begin(b, 7)
	case b&0xc0 == 0x40:
		d.adds = true
		return d.integer.begin(b, 6)
	case b&0xe0 == 0x20:
		d.step = atSizeUpdate
		return d.integer.begin(b, 5)
	}
	return d.integer.begin(b, 4)
}

// number takes a number that is complete.
func (d *decoder) number(found func(*field)) {
	value := d.integer.value
	d.integer.shift = fresh
	switch d.step {
	case atSizeUpdate:
		d.most, d.step = value, atField
	case atIndex:
		d.index(value, found)
	case atNameLength:
		d.sized(value)
		d.left, d.size, d.length, d.step = value, value, 0, inName
		if value == 0 {
			d.step = atValueLength
		}
	case atValueLength:
		d.sized(value)
		d.left, d.size, d.length, d.step = value, value, 0, inValue
		if value == 0 {
			d.end(found)
		}
	}
}

// index takes the index of a field, or of its name.
func (d *decoder) index(index uint32, found func(*field)) {
	d.field.name, d.least, d.largest = other, 32, 32
	if index == 0 && !d.indexed {
		d.step = atNameLength
		return
	}
	f, ok := d.find(index, &d.scratch)
	if !ok {
		d.broken = true
		return
	}
	if d.indexed {
		d.step = atField
		if f != nil {
			found(f)
		}
		return
	}
	if f != nil {
		d.field.name = f.name
	}
	d.largest += longestName
	d.step = atValueLength
}

// longestName is about the longest name that an index refers to.
const longestName = 64

// sized adds a text of the given encoded length to the bounds of the entry's size: a byte takes 5 to 30 bits.
func (d *decoder) sized(length uint32) {
	if !d.huffman {
		d.least, d.largest = d.least+length, d.largest+length
		return
	}
	d.least += length * 8 / 30
	d.largest += length * 8 / 5
}

// text takes bytes of a name or a value, and returns what follows it.
func (d *decoder) text(part []byte, found func(*field)) []byte {
	n := min(uint32(len(part)), d.left)
	if d.step == inName && d.size <= longestLiteral || d.step == inValue && d.field.name != other {
		d.length += copy(d.encoded[d.length:], part[:n])
	}
	if d.left -= n; d.left > 0 {
		return nil
	}
	if d.step == inName {
		d.field.name = d.interest(nameOf(d.encoded[:d.length], d.huffman))
		d.step = atValueLength
	} else {
		d.end(found)
	}
	return part[n:]
}

// end ends a field with a value of its own.
func (d *decoder) end(found func(*field)) {
	d.step = atField
	if d.field.name != other {
		d.keep()
		found(&d.field)
	}
	if !d.adds {
		return
	}
	switch {
	case d.largest <= d.most:
		d.add(&d.field)
	case d.least <= d.most:
		d.broken = true // it is not known whether there was room for it
	}
}

// keep decodes the value, and drops the query of a path.
func (d *decoder) keep() {
	f := &d.field
	text := d.encoded[:d.length]
	f.cut = false
	if d.huffman {
		decoded, whole := appendHuffman(f.value[:0], text)
		f.length, f.cut = uint8(len(decoded)), !whole
	} else {
		f.length = uint8(copy(f.value[:], text))
	}
	f.cut = f.cut || d.size > mostEncoded
	if query := bytes.IndexAny(f.text(), "?#"); f.name == path && query >= 0 {
		f.length, f.cut = uint8(query), false
	}
	clear(f.value[f.length:])
	clear(d.encoded[:])
}
