package dnsservers

import (
	"bufio"
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jitterscope/jitterscope/collector/internal/procroot"
)

// option is a setting of dnsmasq by its long name, from the command line or a configuration file, which use the same
// names.
type option struct{ name, value string }

// shortOptions are dnsmasq's short options that matter here (from its option.c); all options of shortWithValue take a
// value.
var shortOptions = map[byte]string{
	'S': "server", 'r': "resolv-file", 'R': "no-resolv", 'C': "conf-file", '7': "conf-dir", 'N': "no-negcache", 'c': "cache-size",
}

const shortWithValue = "rmpclsiutgaxSCATHQIBFGOMXVUjPJWY2467803"

const (
	maxOptionFiles     = 64
	maxOptionFileBytes = 256 << 10
	maxArguments       = 64 << 10
	defaultConfFile    = "/etc/dnsmasq.conf"
)

// dnsmasqOptions returns the options of a running dnsmasq: those of its command line, then those of its files.
func dnsmasqOptions(proc string, pid int) (arguments []string, options []option, err error) {
	text, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return nil, nil, err
	}
	arguments = strings.Split(strings.TrimRight(string(text[:min(len(text), maxArguments)]), "\x00"), "\x00")
	options = parseArguments(arguments)
	files := optionFiles{read: func(path string) ([]byte, error) { return procroot.ReadFile(proc, pid, path, maxOptionFileBytes) },
		list: func(path string) ([]string, error) { return procroot.List(proc, pid, path, 1000) }}
	if !slices.ContainsFunc(options, func(o option) bool { return o.name == "conf-file" }) {
		options = append(options, files.file(defaultConfFile)...)
	}
	return arguments, files.follow(options), nil
}

// parseArguments reads a command line: --name=value, --name value, -nvalue, -n value and combined flags, -kR.
func parseArguments(arguments []string) (options []option) {
	for i := 1; i < len(arguments); i++ {
		argument := arguments[i]
		following := ""
		if i+1 < len(arguments) {
			following = arguments[i+1]
		}
		if long, ok := strings.CutPrefix(argument, "--"); ok {
			name, value, given := strings.Cut(long, "=")
			if !given && takesValue(name) && !strings.HasPrefix(following, "-") {
				value = following
				i++
			}
			options = append(options, option{name, value})
			continue
		}
		if len(argument) < 2 || argument[0] != '-' {
			continue
		}
		for k := 1; k < len(argument); k++ {
			name := shortOptions[argument[k]]
			if strings.IndexByte(shortWithValue, argument[k]) < 0 {
				options = append(options, option{name: name})
				continue
			}
			value := argument[k+1:]
			if value == "" {
				value = following
				i++
			}
			options = append(options, option{name, strings.TrimPrefix(value, "=")})
			break
		}
	}
	return options
}

// takesValue reports which of the long options that matter here have a value.
func takesValue(name string) bool {
	return slices.Contains([]string{
		"server", "local", "rev-server", "resolv-file", "conf-file", "conf-dir", "servers-file", "cache-size", "max-tcp-connections",
	}, name)
}

// isFlag reports which of the long options that matter here have none.
func isFlag(name string) bool {
	return slices.Contains([]string{"no-resolv", "no-negcache", "no-ident"}, name)
}

// optionFiles reads configuration files and those that they include.
type optionFiles struct {
	read func(path string) ([]byte, error)
	list func(path string) ([]string, error)
	seen []string // files and directories
}

// follow adds the options of the files that options name.
func (f *optionFiles) follow(options []option) []option {
	for i := 0; i < len(options); i++ {
		switch options[i].name {
		case "conf-file", "servers-file":
			options = append(options, f.file(options[i].value)...)
		case "conf-dir":
			options = append(options, f.directory(options[i].value)...)
		}
	}
	return options
}

func (f *optionFiles) file(path string) (options []option) {
	if path == "" || len(f.seen) >= maxOptionFiles || slices.Contains(f.seen, path) {
		return nil
	}
	f.seen = append(f.seen, path)
	text, err := f.read(path)
	if err != nil {
		return nil
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxOptionFileBytes)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "#") {
			continue
		}
		if at := strings.Index(line, " #"); at >= 0 { // 10.0.0.1#53 is not a comment
			line = line[:at]
		}
		name, value, _ := strings.Cut(line, "=")
		// Block lists have thousands of lines of other options.
		if name = strings.TrimSpace(name); takesValue(name) || isFlag(name) {
			options = append(options, option{name, strings.Trim(strings.TrimSpace(value), `"`)})
		}
	}
	return options
}

// directory reads "DIRECTORY[,SUFFIX…]": files with a suffix are left out, a suffix with a star in front is the only
// one wanted.
func (f *optionFiles) directory(value string) (options []option) {
	if len(f.seen) >= maxOptionFiles || slices.Contains(f.seen, value) {
		return nil
	}
	f.seen = append(f.seen, value)
	parts := strings.Split(value, ",")
	names, err := f.list(parts[0])
	if err != nil {
		return nil
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || strings.HasPrefix(name, "#") || !wantedFile(name, parts[1:]) {
			continue
		}
		options = append(options, f.file(path.Join(parts[0], name))...)
	}
	return options
}

func wantedFile(name string, suffixes []string) bool {
	only, matched := false, false
	for _, suffix := range suffixes {
		if wanted, ok := strings.CutPrefix(suffix, "*"); ok {
			only, matched = true, matched || strings.HasSuffix(name, wanted)
		} else if strings.HasSuffix(name, suffix) {
			return false
		}
	}
	return !only || matched
}

// secretOption matches an option that might hold a secret.
var secretOption = regexp.MustCompile(`(?i)^(--?[^=\s]*(?:secret|passw|token|credential|key|auth)[^=\s]*=).+$`)

// stripArguments joins arguments with spaces; possible secrets become the word REDACTED.
func stripArguments(arguments []string) string {
	shown := make([]string, len(arguments))
	for i, argument := range arguments {
		shown[i] = secretArgument.ReplaceAllString(secretOption.ReplaceAllString(argument, "${1}REDACTED"), "${1}REDACTED@")
	}
	return strings.Join(shown, " ")
}
