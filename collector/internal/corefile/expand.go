package corefile

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/coredns/caddy/caddyfile"
)

// line is the words of one line of a file.
type line struct {
	file  string
	words []string
}

// lines splits a file into words as CoreDNS does.
func lines(file File) ([]line, error) {
	if strings.ContainsRune(file.Text, '\x01') {
		return nil, fmt.Errorf("%s has control characters", file.Path)
	}
	var list []line
	words := caddyfile.NewDispenser(file.Path, strings.NewReader(hide.Replace(file.Text)))
	end := -1 // of the previous word: quoted ones can span several lines
	for words.Next() {
		if words.Line() > end {
			list = append(list, line{file: file.Path})
		}
		last := &list[len(list)-1]
		last.words = append(last.words, words.Val())
		end = words.Line() + strings.Count(words.Val(), "\n")
	}
	return list, nil
}

// expander inserts imported text, line by line.
type expander struct {
	read     Import
	left     []line
	snippets map[string][]line
	imports  int
	out      strings.Builder
}

// expand returns the text of a Corefile without imports and snippets.
func expand(file File, read Import) (string, error) {
	left, err := lines(file)
	if err != nil {
		return "", err
	}
	e := expander{read: read, left: left, snippets: make(map[string][]line)}
	for depth := 0; len(e.left) > 0; {
		next := e.left[0]
		e.left = e.left[1:]
		switch name, isSnippet := snippetName(next.words); {
		case depth == 0 && isSnippet:
			err = e.define(name)
		case next.words[0] == "import" && len(next.words) == 2:
			err = e.include(next)
		default:
			depth += deeper(next.words)
			err = e.write(next)
		}
		if err != nil {
			return "", err
		}
	}
	return e.out.String(), nil
}

// snippetName reads "(name) {".
func snippetName(words []string) (string, bool) {
	if len(words) != 2 || words[1] != "{" || !strings.HasPrefix(words[0], "(") || !strings.HasSuffix(words[0], ")") {
		return "", false
	}
	return words[0][1 : len(words[0])-1], true
}

// deeper is how many more braces a line opens than it closes.
func deeper(words []string) (braces int) {
	for _, word := range words {
		switch word {
		case "{":
			braces++
		case "}":
			braces--
		}
	}
	return braces
}

// define keeps the lines of a snippet up to its closing brace.
func (e *expander) define(name string) error {
	if _, twice := e.snippets[name]; twice {
		return fmt.Errorf("the snippet %s is defined twice", name)
	}
	body := []line{}
	for depth := 1; len(e.left) > 0; {
		next := e.left[0]
		e.left = e.left[1:]
		if depth += deeper(next.words); depth <= 0 {
			if len(next.words) != 1 {
				return fmt.Errorf("the snippet %s does not end on a line of its own", name)
			}
			e.snippets[name] = body
			return nil
		}
		body = append(body, next)
	}
	return fmt.Errorf("the snippet %s has no end", name)
}

// include replaces an import by a snippet or files.
func (e *expander) include(at line) error {
	if e.imports++; e.imports > maxImports {
		return errTooLarge
	}
	pattern := at.words[1]
	if snippet, ok := e.snippets[pattern]; ok {
		e.left = append(snippet[:len(snippet):len(snippet)], e.left...)
		return nil
	}
	files, err := e.read(at.file, reveal.Replace(pattern))
	if err != nil {
		return fmt.Errorf("import %s: %w", reveal.Replace(pattern), err)
	}
	var imported []line
	for _, file := range files {
		more, err := lines(file)
		if err != nil {
			return err
		}
		imported = append(imported, more...)
	}
	e.left = append(imported, e.left...)
	return nil
}

var errImport = errors.New("import must begin a line, followed by one name")

// write adds a line in the form that the parser reads.
func (e *expander) write(next line) error {
	for i, word := range next.words {
		if word == "import" { // the parser would look for a file of the collector
			return errImport
		}
		quoted, err := quote(word)
		if err != nil {
			return err
		}
		if i > 0 {
			e.out.WriteByte(' ')
		}
		e.out.WriteString(quoted)
	}
	e.out.WriteByte('\n')
	if e.out.Len() > maxTextBytes {
		return errTooLarge
	}
	return nil
}

// quote writes a word so that the parser reads back the same word. Inside quotes \" is the only escape.
func quote(word string) (string, error) {
	special := func(r rune) bool { return unicode.IsSpace(r) || r == '#' }
	if word != "" && word[0] != '"' && !strings.ContainsFunc(word, special) {
		return word, nil
	}
	if strings.HasSuffix(word, `\`) || strings.Contains(word, `\"`) {
		return "", fmt.Errorf("%q cannot be quoted", word)
	}
	return `"` + strings.ReplaceAll(word, `"`, `\"`) + `"`, nil
}
