package quantity

import "testing"

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"4": "4", "3920m": "3.92", "100m": "0.1", "0.5": "0.5", ".5": "0.5", "0": "0", "1e3": "1000", "2E2": "200", "1E": "1000000000000000000",
		"128Mi": "134217728", "1.5Gi": "1610612736", "70M": "70000000", "128974848": "128974848", "500u": "0.0005", "7n": "0.000000007",
	} {
		if amount, ok := Parse(text); !ok || Text(amount) != want {
			t.Errorf("%q is %s (%v), want %s", text, Text(amount), ok, want)
		}
	}
	for _, text := range []string{"", "m", "x", "1x", "1mi", "-1", "1 Gi", "0x10", "1_000", "Inf", "NaN", "1e999", "1.2.3", "--1", "Ki"} {
		if amount, ok := Parse(text); ok {
			t.Errorf("%q was read as %g", text, amount)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("100m")
	f.Add("1e3Ki")
	f.Fuzz(func(t *testing.T, text string) {
		if amount, ok := Parse(text); ok && !(amount >= 0) {
			t.Errorf("%q is %g", text, amount)
		}
	})
}
