// Package deathsig starts programs that end with the process that started them, even if that is killed.
package deathsig

import (
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// Start is command.Start for a child that the kernel kills when this process ends. The kernel sends the signal when the
// *thread* that started the child ends (PR_SET_PDEATHSIG, prctl(2)), and Go threads end when a goroutine that locked
// one does: so one thread waits in the kernel until the child has ended. Errors are those of command.Start.
func Start(command *exec.Cmd) error {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &unix.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = unix.SIGKILL
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err != nil {
			return
		}
		// Only peeks: command.Wait collects the status, and if it was faster there is nothing to wait for.
		for unix.Waitid(unix.P_PID, command.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
	}()
	return <-started
}
