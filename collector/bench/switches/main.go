// Command switches measures what counting blocked time costs whoever switches threads: two threads on one CPU that wake each other over
// pipes, with the program on sched_switch and without it in turn.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jitterscope/jitterscope/collector/bench/alternating"
	"github.com/jitterscope/jitterscope/collector/internal/blocked"
)

const (
	rounds   = 40 // with and without in turn
	batches  = 20 // of a round
	trips    = 500
	quietest = 10     // percentile of the batches: what else the machine does only adds to one
	echoes   = "echo" // how the other end is called
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == echoes {
		echo()
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "switches:", err)
		os.Exit(1)
	}
}

// echo sends back what comes until nothing does.
func echo() {
	runtime.LockOSThread()
	var one [1]byte
	for {
		if n, err := unix.Read(0, one[:]); n == 0 || err != nil {
			return
		}
		if _, err := unix.Write(1, one[:]); err != nil {
			return
		}
	}
}

// pair is this thread and another process on its CPU, of which one runs at a time.
type pair struct {
	to, from *os.File
	pid      int
}

func start() (p *pair, stop func(), err error) {
	command := exec.Command(os.Args[0], echoes)
	command.Env = append(os.Environ(), "GOMAXPROCS=1")
	there, to, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	from, back, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	command.Stdin, command.Stdout = there, back
	if err := command.Start(); err != nil {
		return nil, nil, err
	}
	_, _ = there.Close(), back.Close()
	return &pair{to, from, command.Process.Pid}, func() {
		_, _ = to.Close(), from.Close()
		_ = command.Wait()
	}, nil
}

// switches goes there and back, two switches each time, and returns CPU nanoseconds for one.
func (p *pair) switches() (float64, error) {
	to, from := int(p.to.Fd()), int(p.from.Fd())
	var one [1]byte
	before, err := p.cpu()
	if err != nil {
		return 0, err
	}
	for range trips {
		_, sent := unix.Write(to, one[:])
		_, got := unix.Read(from, one[:])
		if sent != nil || got != nil {
			return 0, errors.Join(sent, got)
		}
	}
	after, err := p.cpu()
	return float64((after - before).Nanoseconds()) / (2 * trips), err
}

// cpu is the CPU time of both ends; what the scheduler does between them is theirs.
func (p *pair) cpu() (time.Duration, error) {
	other, err := alternating.ProcessTime(p.pid)
	return alternating.ThreadTime() + other, err
}

func run() error {
	runtime.LockOSThread()
	if err := onOneCPU(); err != nil {
		return err
	}
	p, stop, err := start()
	if err != nil {
		return err
	}
	defer stop()
	var off, on []float64
	for round := range rounds {
		costs := &off
		if round%2 == 1 {
			costs = &on
			tracer, err := blocked.Open()
			if err != nil {
				return err
			}
			tracer.Watch(os.Getpid()) // of which no thread is blocked, as is usual
			if err := p.measure(costs); err != nil {
				return errors.Join(err, tracer.Close())
			}
			if err := tracer.Close(); err != nil {
				return err
			}
			continue
		}
		if err := p.measure(costs); err != nil {
			return err
		}
	}
	slices.Sort(off)
	slices.Sort(on)
	with, without := on[len(on)*quietest/100], off[len(off)*quietest/100]
	fmt.Printf("a switch between threads takes %.0f ns, counted %.0f ns: %+.0f ns, %+.1f %%; of medians %+.0f ns\n",
		without, with, with-without, 100*(with/without-1), alternating.Median(on)-alternating.Median(off))
	return nil
}

func (p *pair) measure(costs *[]float64) error {
	for range batches {
		cost, err := p.switches()
		if err != nil {
			return err
		}
		*costs = append(*costs, cost)
	}
	return nil
}

// onOneCPU keeps this thread, and whom it starts, to its last CPU.
func onOneCPU() error {
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return err
	}
	last := 0
	for cpu := range len(all) * 64 {
		if all.IsSet(cpu) {
			last = cpu
		}
	}
	one.Set(last)
	return unix.SchedSetaffinity(0, &one)
}
