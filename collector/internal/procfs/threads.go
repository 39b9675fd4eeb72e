package procfs

import (
	"bytes"

	"github.com/jitterscope/jitterscope/collector/internal/decimal"
)

// ParseThreads reads the number of threads, field 20 of /proc/PID/stat. The command in field 2 can contain anything, so
// counting begins after its last parenthesis.
func ParseThreads(text []byte) (threads uint64, ok bool) {
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return 0, false
	}
	rest := text[end+1:]
	for range 18 {
		space := bytes.IndexByte(rest, ' ')
		if space < 0 {
			return 0, false
		}
		rest = rest[space+1:]
	}
	threads, rest, ok = decimal.Parse(rest)
	return threads, ok && len(rest) > 0 && rest[0] == ' '
}
