// Package quantity reads amounts as Kubernetes writes them: "250m", "1.5", "128Mi", "1e3".
package quantity

import (
	"math"
	"strconv"
	"strings"
)

// The suffixes, and what they multiply or divide by: a quotient has no rounding error that a product would have.
var (
	times = map[string]float64{
		"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
		"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50, "Ei": 1 << 60,
	}
	parts = map[string]float64{"m": 1e3, "u": 1e6, "n": 1e9}
)

// Parse returns an amount in its base unit (CPUs, bytes); ok is false if the text is not one, or is negative.
func Parse(text string) (amount float64, ok bool) {
	end := strings.LastIndexAny(text, "0123456789.") + 1
	// ParseFloat also reads "0x10", "1_000", and "Inf".
	if strings.Trim(text[:end], "0123456789.eE+-") != "" {
		return 0, false
	}
	number, err := strconv.ParseFloat(text[:end], 64)
	if err != nil || number < 0 || math.IsInf(number, 0) {
		return 0, false
	}
	if by, known := times[text[end:]]; known {
		return number * by, true
	}
	by, known := parts[text[end:]]
	if !known {
		return 0, false
	}
	return number / by, true
}

// Text formats an amount without a suffix: "0.25", "134217728".
func Text(amount float64) string { return strconv.FormatFloat(amount, 'f', -1, 64) }
