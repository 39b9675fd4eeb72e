package journalfile

import (
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// compressedLine is the output of liblzma for plainLine with the calls and options of systemd (src/basic/compress.c).
const compressedLine = "" +
	"fd377a585a000000ff12d94103c0cd02be0421011000000042ddef98e0023d01455d00269146acd06f74b8a5bd259c0747eb7d143cb98db070da3c1a" +
	"4b9736b30c30cc4c1e53b43d6f17c5b5e1203bfdb4b94b511f83b593b59caad91c8493286a6bedd0e6362f5a46b6c025aa1e7b7943a060741a1e5cee" +
	"cfaa2780f6bb20ab5af7c6a21ee4c9179e1e4fb6943d3238e3d847849f66f94998558158a6de23dc2a1ae32a182b72be8e5534bcb7f0f0ea93ba7ab2" +
	"b8193545ec9f9958aa328673c61ac4384bcfcd842dae5404df7af1468eee5ccc94cb47f5b7a28e901e10885a6acf1f023f5427ffea92110e926a40c9" +
	"4fe96f3011c8a4d8aa519f5728529303ed9f2e89bcc27632c0b161d63692eb2b5568530605e557cca4585e23646e5cc37cfc3c33e3049e2883d91ebd" +
	"7b591861f69b3f5fb882a7eaa8da1cdf1207803b5454b2f858ad4af72ce0a150ffacfa7d1ec0ceda95a77324a719a7f6cbb28dbd2b261e0ca1df7eb8" +
	"000000000001dd02be040000391991eda8000afc020000000000595a"

const plainLine = `MESSAGE=I0225 19:30:12.230929    4509 pod_startup_latency_tracker.go:104] "Observed pod startup duration" ` +
	`pod="kube-system/aws-node-vw7c6" podStartSLOduration=2.471963941 podStartE2EDuration="13.230915126s" ` +
	`podCreationTimestamp="2025-02-25 19:29:59 +0000 UTC" firstStartedPulling="2025-02-25 19:30:00.84531012 +0000 UTC m=+2.984554843" ` +
	`lastFinishedPulling="2025-02-25 19:30:11.604261306 +0000 UTC m=+13.743506028" ` +
	`observedRunningTime="2025-02-25 19:30:12.230780261 +0000 UTC m=+14.370025005" ` +
	`watchObservedRunningTime="2025-02-25 19:30:12.230915126 +0000 UTC m=+14.370159852"`

func compressed(t *testing.T) []byte {
	t.Helper()
	raw, err := hex.DecodeString(compressedLine)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestXZ(t *testing.T) {
	raw := compressed(t)
	got, ok := unxz(raw, 1<<16)
	if !ok || string(got) != plainLine {
		t.Errorf("%v %q", ok, got)
	}
	for cut := range raw {
		if got, ok := unxz(raw[:cut], 1<<16); ok && string(got) != plainLine { // what follows the block is not needed
			t.Errorf("cut at %d: %q", cut, got)
		}
	}
	if _, ok := unxz(raw, len(plainLine)-1); ok {
		t.Error("longer than allowed")
	}
	const dictionaryAt = 20
	raw[dictionaryAt] = 40 // 4 GiB - 1
	if _, ok := unxz(raw, 1<<16); ok {
		t.Error("a dictionary of 4 GiB is allocated")
	}
}

// journal is a file with one entry with one value, as journald without keyed hashes writes it.
func journal(flag byte, value []byte) []byte {
	const headerSize, dataAt = 240, 240
	file := make([]byte, headerSize)
	copy(file, signature)
	binary.LittleEndian.PutUint32(file[offsetFlags:], uint32(flag))
	binary.LittleEndian.PutUint64(file[offsetHeaderSize:], headerSize)
	object := func(kind, flags byte, body []byte) {
		header := make([]byte, objectHeaderBytes)
		header[0], header[1] = kind, flags
		binary.LittleEndian.PutUint64(header[8:], uint64(objectHeaderBytes+len(body)))
		file = append(append(file, header...), body...)
		file = append(file, make([]byte, -len(file)&7)...)
	}
	object(typeData, flag, append(make([]byte, 48), value...))
	binary.LittleEndian.PutUint64(file[offsetTail:], uint64(len(file)))
	item := make([]byte, 48+16)
	binary.LittleEndian.PutUint64(item[48:], dataAt)
	object(typeEntry, 0, item)
	return file
}

// TestCompressedEntry reads a line compressed with XZ, and counts one that cannot be read.
func TestCompressedEntry(t *testing.T) {
	raw := compressed(t)
	for name, c := range map[string]struct {
		flag       byte
		value      []byte
		message    string
		unreadable int64
	}{
		"plain":        {0, []byte(plainLine), plainLine[len("MESSAGE="):], 0},
		"XZ":           {flagXZ, raw, plainLine[len("MESSAGE="):], 0},
		"cut XZ":       {flagXZ, raw[:100], "", 1},
		"damaged LZ4":  {flagLZ4, raw, "", 1},
		"damaged ZSTD": {flagZSTD, raw, "", 1},
	} {
		path := filepath.Join(t.TempDir(), "system.journal")
		if err := os.WriteFile(path, journal(c.flag, c.value), 0o600); err != nil {
			t.Fatal(err)
		}
		var unreadable atomic.Int64
		one, err := open(path, true, &unreadable)
		if err != nil {
			t.Fatal(err)
		}
		var messages []string
		if err := one.look(true, func(e Entry) { messages = append(messages, string(e.Message)) }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_ = one.close()
		if len(messages) != 1 || messages[0] != c.message || unreadable.Load() != c.unreadable {
			t.Errorf("%s: %q, %d unreadable", name, messages, unreadable.Load())
		}
	}
}
