package dnsservers

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const maxCorefileBytes = 64 << 10

// Corefile returns the configuration of a running CoreDNS with secrets removed, "" where it cannot be read. It is read as
// the process sees it: inside its root and relative to its working directory.
func Corefile(proc string, pid int) string {
	directory := filepath.Join(proc, strconv.Itoa(pid))
	arguments, err := os.ReadFile(filepath.Join(directory, "cmdline"))
	if err != nil {
		return ""
	}
	path := configurationPath(arguments)
	if !filepath.IsAbs(path) {
		working, err := os.Readlink(filepath.Join(directory, "cwd"))
		if err != nil {
			return ""
		}
		path = filepath.Join(working, path)
	}
	file, err := os.Open(filepath.Join(directory, "root", path))
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxCorefileBytes))
	if err != nil {
		return ""
	}
	return StripSecrets(string(text))
}

// configurationPath finds -conf in a command line; CoreDNS's default is "Corefile".
func configurationPath(arguments []byte) string {
	fields := bytes.Split(bytes.TrimSuffix(arguments, []byte{0}), []byte{0})
	for i, field := range fields {
		argument := strings.TrimLeft(string(field), "-")
		if len(argument) == len(field) {
			continue
		}
		if name, value, ok := strings.Cut(argument, "="); ok && name == "conf" {
			return value
		} else if !ok && name == "conf" && i+1 < len(fields) {
			return string(fields[i+1])
		}
	}
	return "Corefile"
}

// secretDirective matches directives whose arguments are secrets: route53's and azure's keys, etcd's and grpc's
// credentials, tsig's secrets. Their first word stays, so that the reader sees that they are there.
var secretDirective = regexp.MustCompile(
	`(?i)^(\s*\S*(?:secret|passw|token|credential|access_?key|api_?key|private|client_id|tenant|subscription)\S*)\s+\S.*$`)

// secretArgument matches credentials in URLs anywhere.
var secretArgument = regexp.MustCompile(`(://)[^/\s@]+@`)

// StripSecrets replaces what may be a secret by the word REDACTED.
func StripSecrets(corefile string) string {
	lines := strings.Split(corefile, "\n")
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
