package dnsservers

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jitterscope/jitterscope/collector/internal/corefile"
	"github.com/jitterscope/jitterscope/collector/internal/procroot"
)

const maxImportedFiles = 1000 // in one directory

// importsOf reads what a Corefile imports, as its process does.
func importsOf(proc string, pid int) corefile.Import {
	return func(from, pattern string) (files []corefile.File, err error) {
		pattern = expandReferences(pattern, func(name string) string { return environmentOf(proc, pid, name) })
		if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(filepath.Dir(from), pattern)
		}
		if !strings.ContainsAny(pattern, "*?[") {
			text, err := procroot.ReadFile(proc, pid, pattern, maxCorefileBytes)
			return []corefile.File{{Path: pattern, Text: string(text)}}, err
		}
		directory, base := filepath.Split(pattern)
		if strings.ContainsAny(directory, "*?[") || strings.Count(base, "*")+strings.Count(base, "?") > 1 || strings.Contains(base, "[") {
			return nil, fmt.Errorf("only patterns with one star or question mark in the name of the file are followed: %s", pattern)
		}
		names, err := procroot.List(proc, pid, directory, maxImportedFiles)
		if err != nil {
			return nil, err
		}
		slices.Sort(names)
		for _, name := range names {
			if matches, err := filepath.Match(base, name); err != nil || !matches {
				continue
			}
			text, err := procroot.ReadFile(proc, pid, directory+name, maxCorefileBytes)
			if err != nil {
				return nil, err
			}
			files = append(files, corefile.File{Path: directory + name, Text: string(text)})
		}
		return files, nil
	}
}

// expandReferences replaces {$NAME} and {%NAME%}.
func expandReferences(word string, environment func(string) string) string {
	for _, marks := range [][2]string{{"{$", "}"}, {"{%", "%}"}} {
		for from := 0; ; {
			start := strings.Index(word[from:], marks[0])
			if start < 0 {
				break
			}
			start += from
			end := strings.Index(word[start+len(marks[0]):], marks[1])
			if end < 0 {
				break
			}
			name := word[start+len(marks[0]):][:end]
			value := environment(name)
			word = word[:start] + value + word[start+len(marks[0])+end+len(marks[1]):]
			from = start + len(value)
		}
	}
	return word
}
