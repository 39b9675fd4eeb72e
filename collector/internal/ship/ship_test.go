package ship

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jitterscope/jitterscope/collector/internal/spool"
)

// backend responds with the scripted statuses, then 200, and keeps the bodies that it accepted.
type backend struct {
	mu     sync.Mutex
	script []int
	took   []byte // first byte of each batch
	tokens []string
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = append(b.tokens, r.Header.Get("Authorization"))
	status := http.StatusOK
	if len(b.script) > 0 {
		status, b.script = b.script[0], b.script[1:]
	}
	if status == http.StatusFound {
		w.Header().Set("Location", "/elsewhere")
	}
	if status == http.StatusOK {
		b.took = append(b.took, body[0])
	}
	w.Header().Set(sourcesOff, http.StatusText(status))
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"title":"No","detail":"because"}`)
}

func (b *backend) taken() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.took)
}

func setup(t *testing.T, script ...int) (*Shipper, *spool.Spool, *backend, *bytes.Buffer) {
	t.Helper()
	b := &backend{script: script}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	output := &bytes.Buffer{}
	log := slog.New(slog.NewTextHandler(output, nil))
	s, err := spool.Open(t.TempDir(), 1<<20, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	shipper := New(Config{URL: server.URL, Token: func() (string, error) { return "jsi_x", nil }, Client: client, Log: log}, s)
	return shipper, s, b, output
}

func put(t *testing.T, s *spool.Spool, sequences ...uint64) {
	t.Helper()
	for _, sequence := range sequences {
		if err := s.Put(sequence, []byte{byte(sequence), 1, 2}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSendsInOrderAndRetries(t *testing.T) {
	shipper, s, b, _ := setup(t, 200, 503, 200)
	put(t, s, 1, 2, 3)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); shipper.Run(ctx) }()
	deadline := time.Now().Add(2 * time.Minute)
	for len(b.taken()) < 3 && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	put(t, s, 4)
	for len(b.taken()) < 4 && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	<-done
	if got := b.taken(); !bytes.Equal(got, []byte{1, 2, 3, 4}) {
		t.Errorf("the backend took %v", got)
	}
	if s.Counts().Batches != 0 || shipper.Stats().Failed.Load() != 1 || b.tokens[0] != "Bearer jsi_x" {
		t.Errorf("spool %+v, failed %d, token %q", s.Counts(), shipper.Stats().Failed.Load(), b.tokens[0])
	}
}

func TestTellsWhatIsOffWithEachBatchThatIsTaken(t *testing.T) {
	shipper, s, _, _ := setup(t, 503, 200, 422, 200)
	var heard []string
	shipper.config.Heard = func(off string) { heard = append(heard, off) }
	put(t, s, 1, 2, 3)
	for range 2 { // the first ends at the failure
		shipper.Flush(context.Background())
	}
	if !slices.Equal(heard, []string{"OK", "OK"}) || s.Counts().Batches != 0 {
		t.Errorf("heard %q; %d batches are left", heard, s.Counts().Batches)
	}
}

func TestBatchThatTheBackendFailsOnIsSetAside(t *testing.T) {
	internalErrors := func(count int) []int { return slices.Repeat([]int{http.StatusInternalServerError}, count) }
	for name, test := range map[string]struct {
		script      []int
		took        []byte
		quarantined uint64
	}{
		"the batch is the reason":   {internalErrors(suspectAfter), []byte{2, 3}, 1},
		"the backend fails on all":  {internalErrors(suspectAfter + 3), []byte{1, 2, 3}, 0},
		"not often enough":          {internalErrors(suspectAfter - 1), []byte{1, 2, 3}, 0},
		"a part of it is down":      {slices.Repeat([]int{http.StatusServiceUnavailable}, suspectAfter+1), []byte{1, 2, 3}, 0},
		"another answer in between": {append(append(internalErrors(suspectAfter-1), 503), internalErrors(suspectAfter-1)...), []byte{1, 2, 3}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			shipper, s, b, _ := setup(t, test.script...)
			shipper.first = 50 * time.Microsecond
			put(t, s, 1, 2, 3)
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() { defer close(done); shipper.Run(ctx) }()
			for deadline := time.Now().Add(2 * time.Minute); s.Counts().Batches > 0 && time.Now().Before(deadline); {
				time.Sleep(10 * time.Millisecond)
			}
			cancel()
			<-done
			if got := b.taken(); !bytes.Equal(got, test.took) || s.Counts().Quarantined != test.quarantined {
				t.Errorf("the backend took %v; %+v", got, s.Counts())
			}
		})
	}
}

func TestWhatBecomesOfABatch(t *testing.T) {
	for _, test := range []struct {
		status                  int
		spooled, quarantined    int
		retry                   bool
		pauseAtLeast            time.Duration
		saysWhatTheBackendWrote bool
	}{
		{status: 200},
		{status: 400, quarantined: 1, saysWhatTheBackendWrote: true},
		{status: 413, quarantined: 1, saysWhatTheBackendWrote: true},
		{status: 422, quarantined: 1, saysWhatTheBackendWrote: true},
		{status: 401, spooled: 1, retry: true, pauseAtLeast: misconfiguredWait / 2, saysWhatTheBackendWrote: true},
		{status: 403, spooled: 1, retry: true, pauseAtLeast: misconfiguredWait / 2, saysWhatTheBackendWrote: true},
		{status: 404, spooled: 1, retry: true, pauseAtLeast: misconfiguredWait / 2, saysWhatTheBackendWrote: true},
		{status: 302, spooled: 1, retry: true, pauseAtLeast: misconfiguredWait / 2, saysWhatTheBackendWrote: true},
		{status: 429, spooled: 1, retry: true, saysWhatTheBackendWrote: true},
		{status: 500, spooled: 1, retry: true, saysWhatTheBackendWrote: true},
	} {
		shipper, s, _, output := setup(t, test.status)
		put(t, s, 1)
		sequence, data, _ := s.Oldest(nil)
		pause, retry := shipper.handleResult(sequence, 3, shipper.send(context.Background(), data), firstWait)
		counts := s.Counts()
		if counts.Batches != test.spooled || int(counts.Quarantined) != test.quarantined || retry != test.retry || pause < test.pauseAtLeast {
			t.Errorf("%d: %+v, retry %v after %v", test.status, counts, retry, pause)
		}
		if told := bytes.Contains(output.Bytes(), []byte("No: because")); told != test.saysWhatTheBackendWrote {
			t.Errorf("%d: log %q", test.status, output)
		}
	}
}

func TestFlushStopsAtTheFirstFailure(t *testing.T) {
	shipper, s, b, _ := setup(t, 200, 500)
	put(t, s, 1, 2, 3)
	shipper.Flush(context.Background())
	if !bytes.Equal(b.taken(), []byte{1}) || s.Counts().Batches != 2 {
		t.Errorf("took %v, left %+v", b.taken(), s.Counts())
	}
}

func TestLogsAFailureOnce(t *testing.T) {
	shipper, s, _, output := setup(t, 500, 500, 500, 200)
	put(t, s, 1)
	for range 4 {
		sequence, data, _ := s.Oldest(nil)
		shipper.handleResult(sequence, 3, shipper.send(context.Background(), data), firstWait)
	}
	if n := bytes.Count(output.Bytes(), []byte("sending failed")); n != 1 {
		t.Errorf("told %d times", n)
	}
	if !bytes.Contains(output.Bytes(), []byte("accepts batches again")) {
		t.Error("recovery is not told")
	}
}
