package journalfile

import "encoding/binary"

// lz4 reads systemd's format: the length of the plain text in eight bytes, then one LZ4 block.
func lz4(raw []byte, most int) (out []byte, ok bool) {
	if len(raw) < 8 {
		return nil, false
	}
	length := binary.LittleEndian.Uint64(raw)
	if length > uint64(most) {
		return nil, false
	}
	out, raw = make([]byte, 0, length), raw[8:]
	for len(raw) > 0 {
		token := raw[0]
		literals, rest, ok := count(int(token>>4), raw[1:])
		if !ok || literals > len(rest) {
			return nil, false
		}
		out, raw = append(out, rest[:literals]...), rest[literals:]
		if len(raw) == 0 {
			break // the last sequence has only literals
		}
		if len(raw) < 2 {
			return nil, false
		}
		distance := int(binary.LittleEndian.Uint16(raw))
		copied, rest, ok := count(int(token&15), raw[2:])
		if copied += 4; !ok || distance == 0 || distance > len(out) || len(out)+copied > int(length) {
			return nil, false
		}
		for range copied { // can overlap itself
			out = append(out, out[len(out)-distance])
		}
		raw = rest
	}
	return out, uint64(len(out)) == length
}

// count reads a length whose first four bits are in a token.
func count(length int, raw []byte) (total int, rest []byte, ok bool) {
	if length < 15 {
		return length, raw, true
	}
	for i, more := range raw {
		if length += int(more); more != 255 {
			return length, raw[i+1:], true
		}
	}
	return 0, nil, false
}
