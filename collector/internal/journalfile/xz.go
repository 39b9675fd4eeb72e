package journalfile

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/ulikunitz/xz"
)

// maxXZDictionary is the longest dictionary that is allocated for a value; systemd uses 1 MiB.
const maxXZDictionary = 8 << 20

// unxz reads systemd's format: one XZ stream of one block, with only LZMA2 and without a checksum.
func unxz(raw []byte, most int) (out []byte, ok bool) {
	dictionary, length, ok := xzBlock(raw)
	if !ok || dictionary > maxXZDictionary || length > uint64(most) {
		return nil, false
	}
	reader, err := xz.ReaderConfig{DictCap: 4 << 10, SingleStream: true}.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, false
	}
	out = make([]byte, length)
	_, err = io.ReadFull(reader, out)
	return out, err == nil
}

// xzBlock reads the header of the first block: the size of the dictionary, which the decoder allocates at any size, and
// the length of the plain text. Format: https://tukaani.org/xz/xz-file-format.txt, 3.1 and 5.3.1.
func xzBlock(raw []byte) (dictionary, length uint64, ok bool) {
	const flagsAt, hasBothSizes, lzma2 = 13, 0x40 | 0x80, 0x21
	if len(raw) <= flagsAt || raw[flagsAt] != hasBothSizes {
		return 0, 0, false
	}
	rest := raw[flagsAt+1:]
	for range 2 {
		var n int
		if length, n = binary.Uvarint(rest); n <= 0 {
			return 0, 0, false
		}
		rest = rest[n:]
	}
	if len(rest) < 3 || rest[0] != lzma2 || rest[1] != 1 || rest[2] > 40 {
		return 0, 0, false
	}
	return uint64(2|rest[2]&1) << (rest[2]/2 + 11), length, true
}
