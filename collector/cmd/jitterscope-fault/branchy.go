package main

import (
	"fmt"

	"github.com/cilium/ebpf/asm"
)

// lenOffset is the offset of len in __sk_buff: a number that the verifier knows nothing about.
const lenOffset = 0

// branchy returns a program that makes the verifier walk through about `verified` instructions: blocks of `depth`
// branches whose outcomes it must distinguish, so it walks 2^depth paths through each. After a block the paths no
// longer differ.
func branchy(verified, depth int) asm.Instructions {
	made := asm.Instructions{asm.Mov.Reg(asm.R9, asm.R1)}
	for block := range max(1, verified/walked(depth)) {
		made = append(made, asm.Mov.Imm(asm.R6, 0))
		for level := range depth {
			joined := fmt.Sprintf("b%d_%d", block, level)
			made = append(made,
				asm.LSh.Imm(asm.R6, 1),
				asm.LoadMem(asm.R2, asm.R9, lenOffset, asm.Word),
				asm.JEq.Imm(asm.R2, int32(level), joined),
				asm.Or.Imm(asm.R6, 1),
				// Keeps the paths of a block distinct: the label is where two of them meet.
				asm.Mov.Reg(asm.R3, asm.R6).WithSymbol(joined),
			)
		}
		// The outcome is used, so the verifier must keep the paths distinct.
		made = append(made, asm.JGT.Imm(asm.R6, 1<<depth, "end"))
	}
	return append(made, asm.Mov.Imm(asm.R0, 0).WithSymbol("end"), asm.Return())
}

// walked approximates how many instructions the verifier walks through in one block, according to its own count on
// Linux 6.18, for 4 to 12 branches.
func walked(depth int) int { return 11 << depth }
