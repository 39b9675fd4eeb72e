package procfs

import (
	"os"
	"path/filepath"
	"testing"
)

func TestEachMapping(t *testing.T) {
	proc := t.TempDir()
	if err := os.MkdirAll(filepath.Join(proc, "7"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := "7fb34de00000-7fb34e051000 r-xp 00251000 fe:00 315152                     /usr/lib/jvm/lib/server/libjvm.so\n" +
		"7fb34f112000-7fb34f1ad000 rw-p 00000000 00:00 0 \n" +
		"7fb34f1ad000-7fb34f1b5000 rw-s 00000000 fe:00 9990706                    /tmp/with  space/6630 (deleted)\n" +
		"7ffd00000000-7ffd00001000 r-xp 00000000 00:00 0                          [vdso]\n"
	if err := os.WriteFile(filepath.Join(proc, "7/maps"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []Mapping
	if err := EachMapping(proc, 7, func(m Mapping) bool { got = append(got, m); return true }); err != nil {
		t.Fatal(err)
	}
	want := []Mapping{
		{0x7fb34de00000, 0x7fb34e051000, 0x251000, "7fb34de00000-7fb34e051000", "/usr/lib/jvm/lib/server/libjvm.so"},
		{0x7fb34f1ad000, 0x7fb34f1b5000, 0, "7fb34f1ad000-7fb34f1b5000", "/tmp/with  space/6630 (deleted)"},
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%+v", got)
	}
}
