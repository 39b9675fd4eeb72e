package dnslog

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/deathsig"
	"github.com/jitterscope/jitterscope/collector/internal/journalfile"
)

// Journal follows the systemd journal through journalctl, which knows every journal format that ever existed or, if
// there is no journalctl, as in the collector's image, by reading the journal's files. It does so only while there is a
// unit or a process to follow. The zero value with Visit set is ready.
type Journal struct {
	Directory string // of the journal; "" for the system's own
	// Visit is called with each line, the process that wrote it and its unit, from a goroutine of the Journal.
	Visit func(line []byte, at time.Time, pid int, unit string)

	mu      sync.Mutex
	matches []string
	cursor  string
	stop    context.CancelFunc
	done    chan struct{}
	failed  error
	files   *journalfile.Follower // if there is no journalctl
}

// maxJournalLine bounds a line of journalctl; longer ones are skipped.
const maxJournalLine = 64 << 10

// Needs lists what following the journal requires.
const Needs = "the systemd journal at /var/log/journal or /run/log/journal, and permission to read it (root, or the group systemd-journal)"

// Follow follows these units, and the processes pids for which the journal has no unit. It returns why the journal
// cannot be followed, if known by now.
func (j *Journal) Follow(ctx context.Context, units []string, pids []int) error {
	matches := make([]string, 0, len(units)+len(pids))
	for _, unit := range units {
		matches = append(matches, "_SYSTEMD_UNIT="+unit)
	}
	for _, pid := range pids {
		matches = append(matches, "_PID="+strconv.Itoa(pid))
	}
	slices.Sort(matches)
	matches = slices.Compact(matches)
	j.mu.Lock()
	defer j.mu.Unlock()
	if slices.Equal(matches, j.matches) && (len(matches) == 0 || j.running()) {
		return j.failed
	}
	j.end()
	j.matches = matches
	if len(matches) == 0 {
		j.failed = nil
		return nil
	}
	j.begin(ctx)
	return j.failed
}

// running reports whether journalctl is running. Called with mu held.
func (j *Journal) running() bool {
	if j.done == nil {
		return false
	}
	select {
	case <-j.done:
		return false
	default:
		return true
	}
}

// begin starts journalctl. Called with mu held.
func (j *Journal) begin(ctx context.Context) {
	if _, err := exec.LookPath("journalctl"); err != nil {
		ctx, j.stop = context.WithCancel(ctx)
		j.done = make(chan struct{})
		go j.readFiles(ctx, j.done, slices.Clone(j.matches))
		return
	}
	arguments := []string{"--follow", "--quiet", "--output=json", "--output-fields=MESSAGE,_PID,_SYSTEMD_UNIT"}
	if j.cursor != "" {
		arguments = append(arguments, "--after-cursor="+j.cursor)
	} else {
		arguments = append(arguments, "--lines=0")
	}
	if j.Directory != "" {
		arguments = append(arguments, "--directory="+j.Directory)
	}
	for i, match := range j.matches {
		if i > 0 {
			arguments = append(arguments, "+")
		}
		arguments = append(arguments, match)
	}
	ctx, j.stop = context.WithCancel(ctx)
	j.done = make(chan struct{})
	go j.run(ctx, j.done, arguments)
}

func (j *Journal) run(ctx context.Context, done chan struct{}, arguments []string) {
	defer close(done)
	command := exec.CommandContext(ctx, "journalctl", arguments...)
	command.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	output, err := command.StdoutPipe()
	if err == nil {
		err = deathsig.Start(command)
	}
	if err != nil {
		j.fail(fmt.Errorf("journalctl: %w", err))
		return
	}
	j.read(output)
	if err := command.Wait(); ctx.Err() == nil {
		j.fail(fmt.Errorf("journalctl ended: %w", errors.Join(err, errJournalEnded)))
	}
}

// readFiles follows the journal's files until ctx ends.
func (j *Journal) readFiles(ctx context.Context, done chan struct{}, matches []string) {
	defer close(done)
	j.mu.Lock()
	if j.files == nil {
		folders := journalfile.Places
		if j.Directory != "" {
			folders = []string{j.Directory}
		}
		j.files = journalfile.New(folders)
	}
	files := j.files
	j.mu.Unlock()
	err := files.Follow(ctx, func(e journalfile.Entry) {
		if slices.Contains(matches, "_PID="+strconv.Itoa(e.PID)) || e.Unit != "" && slices.Contains(matches, "_SYSTEMD_UNIT="+e.Unit) {
			j.Visit(e.Message, e.At, e.PID, e.Unit)
		}
	})
	if ctx.Err() == nil {
		j.fail(err)
	}
}

// Unreadable counts the values read from the journal's files that could not be decompressed.
func (j *Journal) Unreadable() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.files == nil {
		return 0
	}
	return j.files.Unreadable()
}

var errJournalEnded = errors.New("it should keep running")

func (j *Journal) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failed = err
}

// entry is a line of journalctl --output=json.
type entry struct {
	Cursor  string          `json:"__CURSOR"`
	Time    string          `json:"__REALTIME_TIMESTAMP"` // µs since the epoch
	PID     string          `json:"_PID"`
	Unit    string          `json:"_SYSTEMD_UNIT"`
	Message json.RawMessage `json:"MESSAGE"` // a string, or a list of bytes if it is not UTF-8
}

func (j *Journal) read(output io.Reader) {
	lines := bufio.NewReaderSize(output, 16<<10)
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		if room := maxJournalLine - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return
		}
		j.take(line)
		line = line[:0]
	}
}

func (j *Journal) take(line []byte) {
	var e entry
	if json.Unmarshal(line, &e) != nil {
		return // too long, or not what journalctl writes
	}
	var text string
	if json.Unmarshal(e.Message, &text) != nil {
		var raw []byte
		var numbers []uint16
		if json.Unmarshal(e.Message, &numbers) != nil {
			return
		}
		for _, number := range numbers {
			raw = append(raw, byte(number))
		}
		text = string(raw)
	}
	us, _ := strconv.ParseInt(e.Time, 10, 64)
	pid, _ := strconv.Atoi(e.PID)
	j.mu.Lock()
	j.cursor, j.failed = e.Cursor, nil
	j.mu.Unlock()
	j.Visit([]byte(text), time.UnixMicro(us), pid, e.Unit)
}

// end stops journalctl. Called with mu held.
func (j *Journal) end() {
	if j.stop == nil {
		return
	}
	j.stop()
	done := j.done
	j.stop, j.done = nil, nil
	j.mu.Unlock() // its goroutine might need it
	<-done
	j.mu.Lock()
}

// Close stops following.
func (j *Journal) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.end()
	j.matches = nil
	if j.files != nil {
		j.files.Close()
		j.files = nil
	}
}
