package probes

import "fmt"

// Arguments in registers, by their place in struct user_pt_regs (arch/arm64/include/uapi/asm/ptrace.h).
var (
	FirstOfGo   = Argument{register: 1}     // x0: Go's internal ABI
	SecondOfABI = Argument{register: 1 + 1} // x1: AAPCS64
)

// registers by the names that static probe points use.
var registers = func() map[string]uint8 {
	all := map[string]uint8{"sp": 31}
	for i := range uint8(31) {
		all[fmt.Sprintf("x%d", i)], all[fmt.Sprintf("w%d", i)] = i, i
	}
	return all
}()
