package evidence

import (
	"math"
	"math/bits"
)

const (
	exactDistinct = 64
	registers     = 512 // standard error 1.04/sqrt(512) = 4.6 %
)

// distinct counts distinct hashes: exactly up to 64, beyond that by HyperLogLog (Flajolet et al., 2007).
type distinct struct {
	exact     []uint64
	registers []uint8
}

func (d *distinct) add(hash uint64) {
	if d.registers == nil {
		for _, known := range d.exact {
			if known == hash {
				return
			}
		}
		if len(d.exact) < exactDistinct {
			d.exact = append(d.exact, hash)
			return
		}
		d.registers = make([]uint8, registers)
		for _, known := range d.exact {
			d.register(known)
		}
		d.exact = nil
	}
	d.register(hash)
}

func (d *distinct) register(hash uint64) {
	at := hash % registers
	rank := uint8(bits.LeadingZeros64(hash|registers-1) + 1)
	d.registers[at] = max(d.registers[at], rank)
}

func (d *distinct) estimate() int64 {
	if d.registers == nil {
		return int64(len(d.exact))
	}
	var sum float64
	zeros := 0
	for _, rank := range d.registers {
		sum += math.Ldexp(1, -int(rank))
		if rank == 0 {
			zeros++
		}
	}
	const alpha = 0.7213 / (1 + 1.079/registers)
	estimate := alpha * registers * registers / sum
	if zeros > 0 && estimate <= 2.5*registers {
		// Linear counting is better for small counts.
		estimate = registers * math.Log(registers/float64(zeros))
	}
	return int64(math.Round(estimate))
}
