package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Kinds of calls.
const (
	freshNames = "access(), each name for once"
	sameNames  = "access(), the same 1,000 names"
	otherCalls = "getppid()"

	stormArgument = "storm"
)

// measured is one window of a storm.
type measured struct {
	Calls int
	CPU   time.Duration
	Took  time.Duration
}

// stormProcess is the process that makes the calls.
type stormProcess struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
	folder  string
}

// startStorm starts this program again as the storm, on the last CPU where there are several.
func startStorm(kind string, rate float64) (*stormProcess, error) {
	folder, err := os.MkdirTemp("", "jitterscope-lookups-")
	if err != nil {
		return nil, err
	}
	s := &stormProcess{command: exec.Command(os.Args[0], stormArgument, kind, strconv.FormatFloat(rate, 'f', -1, 64), folder), folder: folder}
	s.command.Stderr = os.Stderr
	if s.in, err = s.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = json.NewDecoder(out)
	if err := s.command.Start(); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *stormProcess) measure(window time.Duration) (m measured, err error) {
	if _, err := fmt.Fprintln(s.in, window.Nanoseconds()); err != nil {
		return m, err
	}
	if err := s.out.Decode(&m); err != nil {
		return m, fmt.Errorf("the storm ended: %w", err)
	}
	return m, nil
}

func (s *stormProcess) stop() {
	_ = s.in.Close()
	_ = s.command.Wait()
	_ = os.RemoveAll(s.folder)
}

// storm is the child: for each line with a number of nanoseconds it makes calls for so long and writes what they took. Names
// go with their folder, so that no dentries stay behind.
func storm() {
	kind, folder := os.Args[2], os.Args[4]
	rate, err := strconv.ParseFloat(os.Args[3], 64)
	if err != nil {
		os.Exit(2)
	}
	runtime.LockOSThread()
	var all, last unix.CPUSet
	if unix.SchedGetaffinity(0, &all) == nil && all.Count() > 1 {
		highest := 0
		for cpu := range len(all) * 64 {
			if all.IsSet(cpu) {
				highest = cpu
			}
		}
		last.Set(highest)
		_ = unix.SchedSetaffinity(0, &last)
	}
	lines := bufio.NewScanner(os.Stdin)
	for number := 0; lines.Scan(); number++ {
		window, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			os.Exit(2)
		}
		place := folder + "/" + strconv.Itoa(number)
		if err := os.Mkdir(place, 0o700); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		m := blow(kind, place, rate, time.Duration(window))
		if err := os.Remove(place); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		_ = json.NewEncoder(os.Stdout).Encode(m)
	}
}

// blow makes the calls, a thousandth of them each millisecond. It does not catch up after it was put aside.
func blow(kind, place string, rate float64, window time.Duration) measured {
	path := append([]byte(place), "/.0000000000_dOeSnotExist_.db\x00"...)
	digits := path[len(place)+2 : len(place)+12]
	const step = time.Millisecond
	burst := max(int(rate*step.Seconds()), 1)
	var m measured
	cpu, began := threadTime(), time.Now()
	for next := began; ; next = next.Add(step) {
		wait := time.Until(next)
		if wait < -10*step {
			next = time.Now()
		}
		if time.Since(began) >= window {
			break
		}
		if wait > 0 {
			pause := unix.NsecToTimespec(wait.Nanoseconds())
			_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&pause)), 0, 0)
		}
		for range burst {
			m.Calls++
			if kind == otherCalls {
				_, _, _ = unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
				continue
			}
			number := m.Calls
			if kind == sameNames {
				number %= 1000
			}
			for i := len(digits) - 1; i >= 0; i-- {
				digits[i] = '0' + byte(number%10)
				number /= 10
			}
			const here = ^uintptr(99) // AT_FDCWD
			if _, _, err := unix.RawSyscall(unix.SYS_FACCESSAT, here, uintptr(unsafe.Pointer(&path[0])), 0); err != unix.ENOENT {
				fmt.Fprintln(os.Stderr, "access:", err)
				os.Exit(1)
			}
		}
	}
	m.Took, m.CPU = time.Since(began), threadTime()-cpu
	return m
}

func threadTime() time.Duration {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now)
	return time.Duration(now.Nano())
}
