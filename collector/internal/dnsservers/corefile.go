package dnsservers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/jitterscope/jitterscope/collector/internal/corefile"
	"github.com/jitterscope/jitterscope/collector/internal/procroot"
)

const maxCorefileBytes = 64 << 10

// maxFactBytes is the longest fact that the backend accepts.
const maxFactBytes = 64 << 10

// ReadCorefile returns the configuration of a running CoreDNS with secrets removed: its text, "" if it cannot be read,
// and the fact dns.corefile_parsed, "" with an error if CoreDNS's parser rejects it. It is read as the process sees it:
// inside its root and relative to its working directory.
func ReadCorefile(proc string, pid int) (text, parsed string, err error) {
	_, file, err := openCorefile(proc, pid)
	if err != nil {
		return "", "", err
	}
	text = StripSecrets(file.Text)
	blocks, err := corefile.Parse(file, importsOf(proc, pid))
	if err != nil {
		return text, "", err
	}
	encoded, err := json.Marshal(withoutSecrets(blocks))
	if err == nil && len(encoded) > maxFactBytes {
		err = fmt.Errorf("its parsed form has %d bytes, more than %d", len(encoded), maxFactBytes)
	}
	if err != nil {
		return text, "", err
	}
	return text, string(encoded), nil
}

// openCorefile reads the command line and the Corefile of a process.
func openCorefile(proc string, pid int) (arguments []byte, file corefile.File, err error) {
	if arguments, err = os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "cmdline")); err != nil {
		return nil, file, err
	}
	file.Path = configurationPath(arguments)
	text, err := procroot.ReadFile(proc, pid, file.Path, maxCorefileBytes)
	file.Text = string(text)
	return arguments, file, err
}

// configurationPath finds -conf in a command line; CoreDNS's default is "Corefile".
func configurationPath(arguments []byte) string {
	if path := flagValue(arguments, "conf"); path != "" {
		return path
	}
	return "Corefile"
}

// flagValue finds "-name value" or "-name=value" in a command line, with one dash or two.
func flagValue(arguments []byte, wanted string) string {
	fields := bytes.Split(bytes.TrimSuffix(arguments, []byte{0}), []byte{0})
	for i, field := range fields {
		argument := strings.TrimLeft(string(field), "-")
		if len(argument) == len(field) {
			continue
		}
		if name, value, ok := strings.Cut(argument, "="); ok && name == wanted {
			return value
		} else if !ok && name == wanted && i+1 < len(fields) {
			return string(fields[i+1])
		}
	}
	return ""
}

// secretDirective matches directives whose arguments are secrets: route53's and azure's keys, etcd's and grpc's
// credentials, tsig's secrets. Their first word stays, so that the reader sees that they exist.
var secretDirective = regexp.MustCompile(
	`(?i)^(\s*\S*` + secretNames + `\S*)\s+\S.*$`)

var secretName = regexp.MustCompile(`(?i)` + secretNames)

const secretNames = `(?:secret|passw|token|credential|access_?key|api_?key|private|client_id|tenant|subscription)`

// secretArgument matches credentials in URLs anywhere.
var secretArgument = regexp.MustCompile(`(://)[^/\s@]+@`)

// StripSecrets replaces possible secrets by the word REDACTED.
func StripSecrets(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if m := secretDirective.FindStringSubmatch(line); m != nil {
			opens := strings.HasSuffix(strings.TrimSpace(line), "{")
			lines[i] = m[1] + " REDACTED"
			if opens {
				lines[i] += " {"
			}
			continue
		}
		lines[i] = secretArgument.ReplaceAllString(line, "${1}REDACTED@")
	}
	return strings.Join(lines, "\n")
}

const redacted = "REDACTED"

// withoutSecrets is StripSecrets for parsed blocks.
func withoutSecrets(blocks []corefile.Block) []corefile.Block {
	for i := range blocks {
		for k, zone := range blocks[i].Zones {
			blocks[i].Zones[k] = secretArgument.ReplaceAllString(zone, "${1}"+redacted+"@")
		}
		for k := range blocks[i].Plugins {
			plugin := &blocks[i].Plugins[k]
			plugin.Args = argumentsWithoutSecrets(plugin.Name, plugin.Args)
			for n, option := range plugin.Options {
				plugin.Options[n] = append(option[:1:1], argumentsWithoutSecrets(option[0], option[1:])...)
			}
		}
	}
	return blocks
}

func argumentsWithoutSecrets(name string, arguments []string) []string {
	if len(arguments) > 0 && secretName.MatchString(name) {
		return []string{redacted}
	}
	for i, argument := range arguments {
		arguments[i] = secretArgument.ReplaceAllString(argument, "${1}"+redacted+"@")
	}
	return arguments
}
