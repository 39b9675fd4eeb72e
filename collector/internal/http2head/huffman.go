package http2head

import (
	"strings"

	"golang.org/x/net/http2/hpack"
)

// huffman is the code of RFC 7541, appendix B, as a tree: by node and bit, the next node; below 0: a byte, as ^byte; 0:
// no byte has this code.
var huffman = newHuffman()

func newHuffman() (nodes [][2]int16) {
	nodes = make([][2]int16, 1, 256)
	for value := range 256 {
		one := string([]byte{byte(value)})
		bits := int(hpack.HuffmanEncodeLength(strings.Repeat(one, 8))) // bytes of eight are bits of one
		code := hpack.AppendHuffmanString(nil, one)
		node := 0
		for i := range bits - 1 {
			next := &nodes[node][code[i/8]>>(7-i%8)&1]
			if *next == 0 {
				*next = int16(len(nodes))
				nodes = append(nodes, [2]int16{})
				next = &nodes[node][code[i/8]>>(7-i%8)&1]
			}
			node = int(*next)
		}
		nodes[node][code[(bits-1)/8]>>(7-(bits-1)%8)&1] = ^int16(value)
	}
	return nodes
}

// appendHuffman decodes what it can of a text, which may be cut off, up to the capacity of into. It returns false if
// not all of it fits or is valid.
func appendHuffman(into, text []byte) ([]byte, bool) {
	node := 0
	for _, b := range text {
		for bit := 7; bit >= 0; bit-- {
			next := huffman[node][b>>bit&1]
			switch {
			case next > 0:
				node = int(next)
			case next == 0:
				return into, false
			case len(into) == cap(into):
				return into, false
			default:
				into, node = append(into, byte(^next)), 0
			}
		}
	}
	return into, true
}
