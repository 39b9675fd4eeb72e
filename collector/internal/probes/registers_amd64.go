package probes

// Arguments in registers, by their place in struct pt_regs (arch/x86/include/asm/ptrace.h).
var (
	FirstOfGo   = Argument{register: 1 + 10} // ax: Go's internal ABI
	SecondOfABI = Argument{register: 1 + 13} // si: System V
)

// registers by the names that static probe points use.
var registers = map[string]uint8{
	"r15": 0, "r14": 1, "r13": 2, "r12": 3, "rbp": 4, "rbx": 5, "r11": 6, "r10": 7, "r9": 8, "r8": 9, "rax": 10, "rcx": 11, "rdx": 12, "rsi": 13, "rdi": 14,
	"r15d": 0, "r14d": 1, "r13d": 2, "r12d": 3, "ebp": 4, "ebx": 5, "r11d": 6, "r10d": 7, "r9d": 8, "r8d": 9, "eax": 10, "ecx": 11, "edx": 12, "esi": 13,
	"edi": 14, "rsp": 19,
}
