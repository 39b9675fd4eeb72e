package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// refusesWithin is how long a program that opens browsers takes to say that it cannot. It can run as long as the browser.
const refusesWithin = 3 * time.Second

func openCommand(ctx context.Context, arguments []string, std streams) error {
	flags, given := options("open", std)
	only := flags.Bool("print", false, "print the address only")
	words, err := parse(flags, arguments)
	if err != nil {
		return err
	}
	if len(words) != 1 {
		return errors.New("give one incident: kubectl jitterscope open ID")
	}
	id, err := incidentID(words[0])
	if err != nil {
		return err
	}
	api, err := given.client()
	if err != nil {
		return err
	}
	if _, err := api.incident(ctx, id); err != nil { // do not open a page that does not exist
		return err
	}
	address := fmt.Sprintf("%s/incidents/%d", api.server, id)
	if _, err := fmt.Fprintln(std.out, address); err != nil || *only {
		return err
	}
	if command := opener(runtime.GOOS, os.Getenv); command != nil {
		if err := browse(command, address); err != nil {
			_, _ = fmt.Fprintf(std.err, "The browser did not open: %v\n", err)
		}
	}
	return nil
}

// opener returns the command that opens an address in the user's browser; nil if the user sees no screen of this machine.
func opener(system string, variable func(string) string) []string {
	switch system {
	case "darwin", "windows":
		if variable("SSH_CONNECTION") != "" {
			return nil
		}
		if system == "darwin" {
			return []string{"open"}
		}
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	if variable("DISPLAY") == "" && variable("WAYLAND_DISPLAY") == "" {
		return nil
	}
	return []string{"xdg-open"}
}

// browse runs the command with the address, and leaves it running if it goes on.
func browse(command []string, address string) error {
	program := exec.Command(command[0], append(command[1:len(command):len(command)], address)...)
	if err := program.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("%s: %w", command[0], err)
		}
		return nil
	case <-time.After(refusesWithin):
		return nil
	}
}
