package pollstop

import (
	"context"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPollEndsWithTheContext(t *testing.T) {
	stop, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer stop.Close()
	ready := func() int {
		n, err := unix.Poll([]unix.PollFd{stop.Poll()}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	ctx, cancel := context.WithCancel(context.Background())
	release := stop.When(ctx)
	if ready() != 0 {
		t.Error("stopped before the context ended")
	}
	cancel()
	release()
	if ready() != 1 {
		t.Error("not stopped when the context had ended")
	}
	other, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.When(context.Background())() // released first: nothing is written
	if n, err := unix.Poll([]unix.PollFd{other.Poll()}, 0); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
