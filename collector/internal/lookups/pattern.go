package lookups

import "bytes"

// PatternBytes is the longest pattern.
const PatternBytes = 96

// AppendPattern appends what paths like this one have in common: numbers become #, hexadecimal and random words %.
// Bytes that are not printable ASCII become ?; the middle of a long path is left out.
func AppendPattern(out, path []byte, cut bool) []byte {
	from := len(out)
	for i := 0; i < len(path); {
		if !isWord(path[i]) {
			c := path[i]
			if c < ' ' || c > '~' {
				c = '?'
			}
			out = append(out, c)
			i++
			continue
		}
		end := i
		for end < len(path) && isWord(path[end]) {
			end++
		}
		out = appendWord(out, path[i:end])
		i = end
	}
	if cut {
		out = append(out, "..."...)
	}
	if length := len(out) - from; length > PatternBytes {
		const gap = "..."
		head := (PatternBytes - len(gap)) / 2
		tail := PatternBytes - len(gap) - head
		copy(out[from+head:], gap)
		copy(out[from+head+len(gap):], out[from+length-tail:from+length])
		out = out[:from+PatternBytes]
	}
	return out
}

func isWord(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// appendWord appends a word of letters and digits.
func appendWord(out, word []byte) []byte {
	digits, hex, upper, lower := 0, 0, 0, 0
	for _, c := range word {
		switch {
		case isDigit(c):
			digits++
			hex++
		case 'a' <= c && c <= 'z':
			lower++
			if c <= 'f' {
				hex++
			}
		default:
			upper++
			if c <= 'F' {
				hex++
			}
		}
	}
	letters := upper + lower
	switch {
	case letters == 0:
		return append(out, '#')
	case hex == len(word) && (upper == 0 || lower == 0) && (digits > 0 && len(word) >= 4 || len(word) >= 16):
		return append(out, '%')
	case len(word) >= 6 && digits > 0 && upper > 0 && lower > 0: // as mkstemp generates them
		return append(out, '%')
	case digits == 0:
		return append(out, word...)
	}
	number := false
	for _, c := range word {
		if !isDigit(c) {
			out, number = append(out, c), false
		} else if !number {
			out, number = append(out, '#'), true
		}
	}
	return out
}

// appendFolder appends the pattern for everything in the folder of a pattern.
func appendFolder(out, pattern []byte) []byte {
	out = append(out, pattern[:bytes.LastIndexByte(pattern, '/')+1]...)
	return append(out, '*')
}
