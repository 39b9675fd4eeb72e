package batch

import "strings"

// MaxAttributeBytes is the longest event attribute that the backend accepts; the others are the limits of other texts.
const (
	MaxAttributeBytes = 4096
	maxFactBytes      = 64 << 10
	maxDetailBytes    = 2000
	maxNameBytes      = 300
)

// clean makes a text acceptable to the backend, which rejects a whole batch for one text that PostgreSQL cannot store:
// valid UTF-8 without NUL, at most limit bytes long.
func clean(text string, limit int) string {
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "")
	}
	return text
}

func cleanAll(texts []string, limit int) {
	for i, text := range texts {
		texts[i] = clean(text, limit)
	}
}

// AppendRows appends a JSON list of the first of count rows, as many as fit into most bytes. row appends one.
func AppendRows(out []byte, most, count int, row func(out []byte, i int) []byte) []byte {
	begin := len(out)
	out = append(out, '[')
	for i := range count {
		before := len(out)
		if i > 0 {
			out = append(out, ',')
		}
		if out = row(out, i); len(out)+1-begin > most {
			out = out[:before]
			break
		}
	}
	return append(out, ']')
}
