package goruntime

import (
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Info is what the linker wrote into a Go program about itself.
type Info struct {
	Version        string // "1.23.4"
	MainModule     string // "PATH@VERSION"
	DefaultGODEBUG string
	Automaxprocs   string // version of go.uber.org/automaxprocs, "" if unused
	ClientGolang   string // version of the Prometheus client, "" if there is none to scrape
}

// ErrNotGo means that the program was not built by Go, or contains no build information.
var ErrNotGo = errors.New("not a Go program")

// ReadInfo reads the build information of an executable.
func ReadInfo(path string) (Info, error) {
	handle, err := os.Open(path)
	if err != nil {
		return Info{}, err
	}
	defer func() { _ = handle.Close() }()
	// Without this check the reader below would search all data of every other program.
	file, err := elf.NewFile(handle)
	if err != nil || file.Section(".go.buildinfo") == nil {
		return Info{}, ErrNotGo
	}
	raw, err := buildinfo.Read(handle)
	if err != nil {
		return Info{}, fmt.Errorf("%w: %w", ErrNotGo, err)
	}
	info := Info{Version: strings.TrimPrefix(raw.GoVersion, "go")}
	if raw.Main.Path != "" {
		info.MainModule = raw.Main.Path + "@" + raw.Main.Version
	}
	for _, setting := range raw.Settings {
		if setting.Key == "DefaultGODEBUG" {
			info.DefaultGODEBUG = setting.Value
		}
	}
	for _, dependency := range raw.Deps {
		version := dependency.Version
		if dependency.Replace != nil {
			version = dependency.Replace.Version
		}
		switch dependency.Path {
		case "go.uber.org/automaxprocs":
			info.Automaxprocs = version
		case "github.com/prometheus/client_golang":
			info.ClientGolang = version
		}
	}
	return info, nil
}

// AtLeast reports whether the version of the toolchain is at least major.minor. Development versions count as new.
func (i Info) AtLeast(major, minor int) bool {
	var haveMajor, haveMinor int
	if n, _ := fmt.Sscanf(i.Version, "%d.%d", &haveMajor, &haveMinor); n < 2 {
		return strings.HasPrefix(i.Version, "devel")
	}
	return haveMajor > major || (haveMajor == major && haveMinor >= minor)
}

// Environment returns the variables that control the Go runtime, and no others, from /proc/PID/environ.
func Environment(environ []byte) map[string]string {
	found := make(map[string]string)
	for _, variable := range strings.Split(string(environ), "\x00") {
		name, value, ok := strings.Cut(variable, "=")
		switch name {
		case "GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG":
			if _, twice := found[name]; ok && !twice && len(value) <= 1024 {
				found[name] = value
			}
		}
	}
	return found
}
