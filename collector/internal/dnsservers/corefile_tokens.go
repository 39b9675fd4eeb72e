package dnsservers

import "strings"

// token is a word of a Corefile and the line on which it stands.
type token struct {
	text string
	line int
}

// tokens splits a Corefile into words: separated by white space, perhaps in double quotes, # begins a comment at the start
// of a word (github.com/coredns/caddy, caddyfile/lexer.go). {$NAME} and {%NAME%} are replaced by environment.
func tokens(corefile string, environment func(string) string) []token {
	var found []token
	line := 1
	for i := 0; i < len(corefile); {
		switch c := corefile[i]; {
		case c == '\n':
			line++
			i++
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case c == '#':
			for i < len(corefile) && corefile[i] != '\n' {
				i++
			}
		case c == '"':
			var word strings.Builder
			began := line
			for i++; i < len(corefile) && corefile[i] != '"'; i++ {
				if corefile[i] == '\\' && i+1 < len(corefile) && corefile[i+1] == '"' {
					i++
				}
				if corefile[i] == '\n' {
					line++
				}
				word.WriteByte(corefile[i])
			}
			i++
			found = append(found, token{expand(word.String(), environment), began})
		default:
			start := i
			for i < len(corefile) && !strings.ContainsRune(" \t\r\n", rune(corefile[i])) {
				i++
			}
			found = append(found, token{expand(corefile[start:i], environment), line})
		}
	}
	return found
}

func expand(word string, environment func(string) string) string {
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

// directive is a plugin of a server block with its arguments and the lines in its braces.
type directive struct {
	name      string
	arguments []string
	options   [][]string
}

// serverBlock is the keys before the braces, "cluster.local:53", and what is in them.
type serverBlock struct {
	keys       []string
	directives []directive
}

// parseBlocks reads the server blocks. complete is false where something is imported from elsewhere.
func parseBlocks(words []token) (blocks []serverBlock, complete bool) {
	p := blockParser{words: words, snippets: make(map[string][]directive), complete: true}
	for p.at < len(p.words) && len(blocks) < 256 {
		block := p.block()
		if len(block.keys) == 1 && strings.HasPrefix(block.keys[0], "(") && strings.HasSuffix(block.keys[0], ")") {
			p.snippets[strings.Trim(block.keys[0], "()")] = block.directives
			continue
		}
		blocks = append(blocks, block)
	}
	return blocks, p.complete
}

type blockParser struct {
	words    []token
	at       int
	snippets map[string][]directive
	complete bool
}

func (p *blockParser) block() (block serverBlock) {
	for line := -1; p.at < len(p.words); p.at++ {
		word := p.words[p.at]
		if word.text == "{" {
			p.at++
			block.directives = p.directives()
			return block
		}
		continued := len(block.keys) > 0 && strings.HasSuffix(p.words[p.at-1].text, ",")
		if line >= 0 && word.line != line && !continued { // one block without braces, to the end
			block.directives = p.directives()
			return block
		}
		line = word.line
		for _, key := range strings.Split(word.text, ",") {
			if key != "" {
				block.keys = append(block.keys, key)
			}
		}
	}
	return block
}

// directives reads up to the closing brace.
func (p *blockParser) directives() (list []directive) {
	for p.at < len(p.words) {
		if p.words[p.at].text == "}" {
			p.at++
			return list
		}
		d := directive{name: p.words[p.at].text}
		for _, word := range p.line() {
			if word == "{" {
				d.options = p.options()
				break
			}
			d.arguments = append(d.arguments, word)
		}
		if d.name != "import" {
			list = append(list, d)
			continue
		}
		for _, name := range d.arguments[:min(len(d.arguments), 1)] {
			snippet, known := p.snippets[name]
			p.complete = p.complete && known
			list = append(list, snippet...)
		}
	}
	return list
}

// line returns the words after the one at which p stands, up to the end of its line. A brace ends it.
func (p *blockParser) line() (rest []string) {
	line := p.words[p.at].line
	for p.at++; p.at < len(p.words) && p.words[p.at].line == line; p.at++ {
		word := p.words[p.at].text
		if word == "}" {
			return rest
		}
		rest = append(rest, word)
		if word == "{" {
			p.at++
			return rest
		}
	}
	return rest
}

func (p *blockParser) options() (list [][]string) {
	for p.at < len(p.words) {
		first := p.words[p.at].text
		if first == "}" {
			p.at++
			return list
		}
		option := append([]string{first}, p.line()...)
		if last := len(option) - 1; option[last] == "{" { // nested, of a plugin that is not ours
			option = option[:last]
			p.options()
		}
		if len(option) > 0 {
			list = append(list, option)
		}
	}
	return list
}
