package probes

import "testing"

func TestParseArgument(t *testing.T) {
	for text, want := range map[string]Argument{
		"-4@112(%rsp)": {register: 20, memory: true, offset: 112}, "8@%rax": {register: 11}, "-4@%ebp": {register: 5},
		"-4@-20(%rbp)": {register: 5, memory: true, offset: -20}, "4@(%rdi)": {register: 15, memory: true},
	} {
		if got, ok := ParseArgument(text); !ok || got != want {
			t.Errorf("%s: %+v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "8@", "-4@$0", "8@%xmm0", "4@8(%rax,%rbx,4)", "4@99999(%rsp)", "4@%"} {
		if got, ok := ParseArgument(text); ok || got != (Argument{}) {
			t.Errorf("%q: %+v", text, got)
		}
	}
	if got := (Argument{register: 20, memory: true, offset: -2}).cookie(); got != 0x0114fffe00000000 {
		t.Errorf("cookie %#x", got)
	}
}
