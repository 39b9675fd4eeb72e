package probes

import (
	"regexp"
	"strconv"
)

// The syntax in which a static probe point describes an argument: "-4@112(%rsp)", "8@%rax", "-4@x0", "-4@[sp, 112]".
var argumentPlace = regexp.MustCompile(`^(-?[1248])@(?:%?([a-z0-9]+)|(-?\d+)?\(%([a-z0-9]+)\)|\[([a-z0-9]+)(?:, (-?\d+))?\])$`)

// ParseArgument parses the place of an argument; ok is false for one that a probe cannot fetch.
func ParseArgument(text string) (argument Argument, ok bool) {
	m := argumentPlace.FindStringSubmatch(text)
	if m == nil {
		return argument, false
	}
	register, offset := m[2], ""
	if register == "" {
		argument.memory = true
		if register, offset = m[4], m[3]; register == "" {
			register, offset = m[5], m[6]
		}
	}
	number, known := registers[register]
	if !known {
		return Argument{}, false
	}
	argument.register = 1 + number
	if offset != "" {
		value, err := strconv.ParseInt(offset, 10, 16)
		if err != nil {
			return Argument{}, false
		}
		argument.offset = int16(value)
	}
	return argument, true
}
