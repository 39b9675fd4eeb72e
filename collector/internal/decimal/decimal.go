// Package decimal reads numbers in kernel files without allocating.
package decimal

// Parse reads the decimal digits at the beginning of a text; a value that overflows 64 bits is not a number.
func Parse(text []byte) (value uint64, rest []byte, ok bool) {
	at := 0
	for at < len(text) && text[at] >= '0' && text[at] <= '9' {
		digit := uint64(text[at] - '0')
		if value > (^uint64(0)-digit)/10 {
			return 0, text[at:], false
		}
		value = value*10 + digit
		at++
	}
	return value, text[at:], at > 0
}
