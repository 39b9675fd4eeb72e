// Command jitterscope-collector samples a node on a 100 ms grid and ships the series to a Jitterscope server.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/jitterscope/jitterscope/collector/internal/settings"
)

// version is set by the build: -ldflags "-X main.version=…".
var version = "0.0.0-dev"

const usage = `jitterscope-collector samples cgroups, Go programs and DNS servers every 100 ms.

  run      sample and ship to a server
  dump     sample and print the batches as JSON lines; ships nothing
  check    say which sources work here and what the others need
  version  print the version

jitterscope-collector COMMAND -h lists the options. Each has an environment variable, JITTERSCOPE_SERVER for --server.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if errors.Is(err, errAnew) {
		stop() // from here on a signal terminates the program, whatever it is doing
		err = startAnew()
	}
	if err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "jitterscope-collector:", err)
			os.Exit(1)
		}
	}
}

// startAnew re-executes the program: the same process with the same arguments, environment, and privileges.
func startAnew() error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	return syscall.Exec(path, os.Args, os.Environ())
}

func run(ctx context.Context, arguments []string, stdout, stderr io.Writer) error {
	if len(arguments) == 0 {
		fmt.Fprint(stderr, usage)
		return errors.New("a command is needed: run, dump, check or version")
	}
	switch command, rest := arguments[0], arguments[1:]; command {
	case "run":
		return runCommand(ctx, rest, stderr)
	case "dump":
		return dumpCommand(ctx, rest, stdout, stderr)
	case "check":
		return checkCommand(ctx, rest, stdout, stderr)
	case "version":
		_, err := fmt.Fprintf(stdout, "jitterscope-collector %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return err
	case "help", "-h", "--help":
		_, err := fmt.Fprint(stdout, usage)
		return err
	default:
		return fmt.Errorf("unknown command %q; want run, dump, check or version", command)
	}
}

func newLogger(s *settings.Settings, output io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.LogLevel)); err != nil {
		return nil, fmt.Errorf("--log-level: %w", err)
	}
	options := &slog.HandlerOptions{Level: level}
	switch s.LogFormat {
	case "json":
		return slog.New(slog.NewJSONHandler(output, options)), nil
	case "text":
		return slog.New(slog.NewTextHandler(output, options)), nil
	}
	return nil, fmt.Errorf("--log-format: %q is neither json nor text", s.LogFormat)
}
