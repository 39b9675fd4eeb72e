package node

import "github.com/jitterscope/jitterscope/collector/internal/procfs"

// readAll reads a file that can come in several pieces, truncated to the buffer's length.
func readAll(file procfs.Held, buffer []byte) (text []byte, ok bool) {
	length := 0
	for length < len(buffer) {
		piece, ok := file.ReadAt(buffer[length:], int64(length))
		if !ok {
			return nil, false
		}
		if len(piece) == 0 {
			break
		}
		length += len(piece)
	}
	return buffer[:length], true
}
