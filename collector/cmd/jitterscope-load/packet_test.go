package main

import (
	"encoding/hex"
	"strings"
	"testing"
)

func TestQueryPacket(t *testing.T) {
	packet, err := queryPacket("a.test.")
	if err != nil {
		t.Fatal(err)
	}
	// As `dig +bufsize=4096 +nocookie +rec a.test` sends it (RFC 1035 §4, RFC 6891 §6.1), id 0.
	want := "0000" + "0100" + "0001" + "0000" + "0000" + "0001" +
		"01" + "61" + "04" + "74657374" + "00" + "0001" + "0001" +
		"00" + "0029" + "1000" + "00000000" + "0000"
	if got := hex.EncodeToString(packet); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, bad := range []string{"", "a..b", strings.Repeat("x", 64), strings.Repeat("abcdefg.", 40)} {
		if _, err := queryPacket(bad); err == nil {
			t.Errorf("%q accepted", bad)
		}
	}
}

func TestResultNumbersAreTheProtocols(t *testing.T) {
	for rcode, want := range map[byte]uint8{0: 0, 3: 1, 2: 2, 5: 3, 4: 5} {
		if got := resultOf([]byte{0, 0, 0x80, 0x80 | rcode}); got != want {
			t.Errorf("rcode %d is result %d, want %d", rcode, got, want)
		}
	}
}
