package dnsservers

import (
	"bytes"
	"regexp"
	"strings"
)

const maxCorefileBytes = 64 << 10

// Corefile returns the configuration of a running CoreDNS with secrets removed, "" where it cannot be read. It is read as
// the process sees it: inside its root and relative to its working directory.
func Corefile(proc string, pid int) string {
	_, text, err := readCorefile(proc, pid)
	if err != nil {
		return ""
	}
	return StripSecrets(text)
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
