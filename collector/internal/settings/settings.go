// Package settings reads the collector's configuration: a flag takes precedence over the environment, then the
// configuration file, then the default.
package settings

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Settings are all options of the collector.
type Settings struct {
	Server        string
	TokenFile     string
	Token         string
	CAFile        string
	SpoolDir      string
	SpoolMaxBytes int64
	CgroupRoot    string
	ProcRoot      string
	SysRoot       string
	NodeKey       string
	MetricsListen string
	MaxCgroups    int
	CPUBudget     float64
	RealTime      bool
	Sources       string
	LogLevel      string
	LogFormat     string
	Config        string

	options  map[string]toml.Primitive
	metadata toml.MetaData
	off      []string
}

func (s *Settings) define(flags *flag.FlagSet) {
	flags.StringVar(&s.Config, "config", "", "TOML file with any of these options (server = \"…\") and [sources.NAME] tables")
	flags.StringVar(&s.Server, "server", "", "address of the Jitterscope server, https://jitterscope.example.com")
	flags.StringVar(&s.TokenFile, "token-file", "", "file with the ingest token; read again for each request")
	flags.StringVar(&s.Token, "token", "", "ingest token; prefer --token-file or JITTERSCOPE_TOKEN, which do not show in the process list")
	flags.StringVar(&s.CAFile, "ca-file", "", "PEM file with the certificate authority of the server, besides the system's")
	flags.StringVar(&s.SpoolDir, "spool-dir", "/var/lib/jitterscope-collector", "directory for undelivered batches; one per collector")
	flags.Int64Var(&s.SpoolMaxBytes, "spool-max-bytes", 256<<20, "the oldest batches are dropped if the spool exceeds this size")
	flags.StringVar(&s.CgroupRoot, "cgroup-root", "/sys/fs/cgroup", "where the cgroup file systems are mounted")
	flags.StringVar(&s.ProcRoot, "proc-root", "/proc", "where procfs is mounted")
	flags.StringVar(&s.SysRoot, "sys-root", "/sys", "where sysfs is mounted")
	flags.StringVar(&s.NodeKey, "node-key", "", "identity of this node; default: the machine id")
	flags.StringVar(&s.MetricsListen, "metrics-listen", "", "address for the collector's own /metrics and /healthz, 127.0.0.1:9464")
	flags.IntVar(&s.MaxCgroups, "max-cgroups", 1000, "maximum number of cgroups to sample; those with a CPU quota and those nearest to the root are kept")
	flags.Float64Var(&s.CPUBudget, "cpu-budget", 0.25, "share of one CPU that the collector can use before it lowers its resolution; 0: no limit")
	flags.BoolVar(&s.RealTime, "real-time", true, "sample with the lowest real-time priority if permitted, so that ticks are on time on a busy node; bounded by RLIMIT_RTTIME")
	flags.StringVar(&s.Sources, "sources", "", "sources to use, comma-separated; \"-NAME\" turns one off; default: all")
	flags.StringVar(&s.LogLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&s.LogFormat, "log-format", "json", "json or text")
}

// Parse reads the options of a command. extra adds the command's own flags.
func Parse(command string, arguments []string, lookup func(string) (string, bool), output io.Writer, extra func(*flag.FlagSet)) (*Settings, error) {
	s := &Settings{}
	flags := flag.NewFlagSet("jitterscope-collector "+command, flag.ContinueOnError)
	flags.SetOutput(output)
	s.define(flags)
	if extra != nil {
		extra(flags)
	}
	if err := flags.Parse(arguments); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	given := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var errs []error
	flags.VisitAll(func(f *flag.Flag) {
		name := "JITTERSCOPE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if value, ok := lookup(name); ok && !given[f.Name] {
			given[f.Name] = true
			if err := f.Value.Set(value); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	})
	if s.Config != "" {
		errs = append(errs, s.readFile(flags, given))
	}
	return s, errors.Join(errs...)
}

func (s *Settings) readFile(flags *flag.FlagSet, given map[string]bool) error {
	var content struct {
		Sources map[string]toml.Primitive `toml:"sources"`
	}
	raw, err := os.ReadFile(filepath.Clean(s.Config))
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	if s.metadata, err = toml.Decode(string(raw), &content); err != nil {
		return fmt.Errorf("%s: %w", s.Config, err)
	}
	s.options = content.Sources
	var all map[string]any
	if _, err := toml.Decode(string(raw), &all); err != nil {
		return fmt.Errorf("%s: %w", s.Config, err)
	}
	delete(all, "sources")
	var errs []error
	for key, value := range all {
		name := strings.ReplaceAll(key, "_", "-")
		option := flags.Lookup(name)
		if option == nil || name == "config" {
			errs = append(errs, fmt.Errorf("%s: unknown option %q", s.Config, key))
			continue
		}
		if given[name] {
			continue
		}
		if err := option.Value.Set(fmt.Sprint(value)); err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", s.Config, key, err))
		}
	}
	return errors.Join(errs...)
}

// SwitchOff turns off what the organization does not want read, in addition to what the configuration turns off:
// sources, and boolean options as SOURCE:OPTION. Names that this version does not know have no effect.
func (s *Settings) SwitchOff(names []string) { s.off = names }

// SwitchedOff reports whether the organization switched a whole source off.
func (s *Settings) SwitchedOff(source string) bool { return slices.Contains(s.off, source) }

// SourceOptions decodes the [sources.NAME] table into target and rejects keys that target does not have. Options that
// the organization switched off are false.
func (s *Settings) SourceOptions(name string, target any) error {
	if err := s.configured(name, target); err != nil {
		return err
	}
	for _, one := range s.off {
		if source, option, ok := strings.Cut(one, ":"); ok && source == name {
			_, _ = toml.Decode(option+" = false", target) // no such option, or not a boolean: from another version
		}
	}
	return nil
}

func (s *Settings) configured(name string, target any) error {
	primitive, ok := s.options[name]
	if !ok {
		return nil
	}
	if err := s.metadata.PrimitiveDecode(primitive, target); err != nil {
		return fmt.Errorf("%s: [sources.%s]: %w", s.Config, name, err)
	}
	for _, key := range s.metadata.Undecoded() {
		if len(key) > 2 && key[0] == "sources" && key[1] == name {
			return fmt.Errorf("%s: [sources.%s]: unknown key %q", s.Config, name, key[2])
		}
	}
	return nil
}

// Enabled returns a function that reports whether to use a source, and an error for names that do not exist.
func (s *Settings) Enabled(known []string) (func(string) bool, error) {
	only, off := make(map[string]bool), make(map[string]bool)
	for _, name := range strings.Split(s.Sources, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		bare, excluded := strings.CutPrefix(name, "-")
		if !slices.Contains(known, bare) {
			return nil, fmt.Errorf("--sources: unknown source %q; want one of %s", bare, strings.Join(known, ", "))
		}
		if excluded {
			off[bare] = true
		} else {
			only[bare] = true
		}
	}
	return func(name string) bool { return !off[name] && (len(only) == 0 || only[name]) }, nil
}
