// Command kubectl-jitterscope shows the incidents of a namespace and applies their fixes: as a plugin, `kubectl jitterscope`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
)

// version is set by the build: -ldflags "-X main.version=…".
var version = "0.0.0-dev"

const usage = `kubectl jitterscope shows the incidents of a namespace and applies their fixes.

  incidents             list the incidents of a namespace that are not over
  patch ID              list the fixes of an incident
  patch ID FIX          print the command of a fix; --apply runs it
  open ID               open an incident's page in the browser, and print its address
  version               print the version

Options go behind the command; kubectl jitterscope COMMAND -h lists them. The server and the token come from, first one first:
  --server and --token-file
  JITTERSCOPE_SERVER and JITTERSCOPE_API_TOKEN
  the file jitterscope/kubectl.toml in your configuration folder (~/.config), with the keys server, token, and ca_file
An API token with incidents:read is enough.
`

// streams are those of the process or of a test.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "kubectl-jitterscope:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string, std streams) error {
	if len(arguments) == 0 {
		_, _ = fmt.Fprint(std.err, usage)
		return errors.New("a command is needed: incidents, patch, open, or version")
	}
	switch command, rest := arguments[0], arguments[1:]; command {
	case "incidents":
		return incidentsCommand(ctx, rest, std)
	case "patch":
		return patchCommand(ctx, rest, std)
	case "open":
		return openCommand(ctx, rest, std)
	case "version":
		_, err := fmt.Fprintf(std.out, "kubectl-jitterscope %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return err
	case "help", "-h", "--help":
		_, err := fmt.Fprint(std.out, usage)
		return err
	default:
		return fmt.Errorf("unknown command %q; want incidents, patch, open, or version", command)
	}
}

// options creates the flags of a command, including those that every command has.
func options(command string, std streams) (*flag.FlagSet, *access) {
	flags := flag.NewFlagSet("kubectl jitterscope "+command, flag.ContinueOnError)
	flags.SetOutput(std.err)
	var given access
	flags.StringVar(&given.server, "server", "", "URL of Jitterscope")
	flags.StringVar(&given.tokenFile, "token-file", "", "file with an API token")
	flags.StringVar(&given.caFile, "ca-file", "", "file with the certificates to verify the server's against (default: those of this machine)")
	return flags, &given
}

// parse reads flags at any position, as kubectl does, and returns the other words.
func parse(flags *flag.FlagSet, arguments []string) (words []string, err error) {
	for {
		if err := flags.Parse(arguments); err != nil {
			return nil, err
		}
		if flags.NArg() == 0 {
			return words, nil
		}
		words, arguments = append(words, flags.Arg(0)), flags.Args()[1:]
	}
}

func incidentID(word string) (int64, error) {
	id, err := strconv.ParseInt(word, 10, 64)
	if err != nil || id <= 0 {
		return 0, fmt.Errorf("%q is not an incident: give the number in the first column of `kubectl jitterscope incidents`", word)
	}
	return id, nil
}
