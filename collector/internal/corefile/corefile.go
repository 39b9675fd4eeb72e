// Package corefile reads the configuration of CoreDNS with CoreDNS's own parser.
//
// That parser takes environment variables from the process that runs it and imports files that it can open. Here both
// would be the collector's, which sees more than CoreDNS does: references to variables are kept as written, and imports
// are expanded before the parser sees the text. The parser never gets an import to follow.
package corefile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coredns/caddy/caddyfile"
)

// Block is a server block: what it serves, ".:53", and its plugins in their original order.
type Block struct {
	Zones   []string `json:"zones"`
	Plugins []Plugin `json:"plugins"`
}

// Plugin is one directive of a block with the words of its line and the lines in its braces. The content of nested
// braces is left out.
type Plugin struct {
	Name    string     `json:"name"`
	Args    []string   `json:"args"`
	Options [][]string `json:"options"`
}

// Import returns the files that "import pattern" in file refers to. A pattern with a star can match no files.
type Import func(file, pattern string) ([]File, error)

// File is a Corefile or one that it imports.
type File struct{ Path, Text string }

// References in Corefiles, and their replacements for the parser.
var (
	hide   = strings.NewReplacer("{$", "\x01$", "{%", "\x01%")
	reveal = strings.NewReplacer("\x01", "{")
)

// Parse reads a Corefile. It fails if CoreDNS would not start with it, or if CoreDNS would but an import cannot be
// read.
func Parse(file File, read Import) ([]Block, error) {
	text, err := expand(file, read)
	if err != nil {
		return nil, err
	}
	parsed, err := caddyfile.Parse(file.Path, strings.NewReader(text), nil)
	if err != nil {
		return nil, errors.New(reveal.Replace(err.Error()))
	}
	blocks := make([]Block, 0, len(parsed))
	for _, one := range parsed {
		blocks = append(blocks, Block{Zones: revealed(one.Keys), Plugins: plugins(one.Tokens)})
	}
	return blocks, nil
}

func revealed(words []string) []string {
	out := make([]string, 0, len(words))
	for _, word := range words {
		out = append(out, reveal.Replace(word))
	}
	return out
}

// plugins restores the order of the lines after the parser has sorted by name.
func plugins(byName map[string][]caddyfile.Token) []Plugin {
	type placed struct {
		line int
		Plugin
	}
	found := []placed{}
	for _, tokens := range byName {
		for len(tokens) > 0 {
			line := tokens[0].Line
			var one Plugin
			one, tokens = plugin(tokens)
			found = append(found, placed{line, one})
		}
	}
	slices.SortFunc(found, func(a, b placed) int { return cmp.Compare(a.line, b.line) })
	out := make([]Plugin, 0, len(found))
	for _, one := range found {
		out = append(out, one.Plugin)
	}
	return out
}

// plugin reads the first of the directives of one name.
func plugin(tokens []caddyfile.Token) (one Plugin, rest []caddyfile.Token) {
	one = Plugin{Name: reveal.Replace(tokens[0].Text), Args: []string{}, Options: [][]string{}}
	depth, from := 0, 0 // from: the line of the last option
	last := tokens[0]
	for i, token := range tokens[1:] {
		switch {
		case token.Text == "{":
			depth++
			from = 0
		case depth > 0 && token.Text == "}":
			depth--
			from = 0
		case depth == 0 && token.Line > last.Line+strings.Count(last.Text, "\n"):
			return one, tokens[i+1:]
		case depth == 0:
			one.Args = append(one.Args, reveal.Replace(token.Text))
		case depth == 1 && token.Line == from:
			option := &one.Options[len(one.Options)-1]
			*option = append(*option, reveal.Replace(token.Text))
		case depth == 1:
			one.Options, from = append(one.Options, []string{reveal.Replace(token.Text)}), token.Line
		}
		last = token
	}
	return one, nil
}

// Limits on how far imports can expand a Corefile.
const (
	maxImports   = 200
	maxTextBytes = 512 << 10
)

var errTooLarge = fmt.Errorf("the Corefile has more than %d imports, or more than %d bytes including imports", maxImports, maxTextBytes)
