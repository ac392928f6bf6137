package document

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits bound a kind of document.
type Limits struct {
	Bytes int
	// Depth bounds how deeply brackets nest, and how many marks such as "-" begin values in one line. Bytes alone bounds
	// how deeply indentation nests.
	Depth     int
	EmptyHint string // ends the error about an empty document, such as "a profile is a mapping with a name"
	// Aliases allows anchors, aliases, merge keys ("<<"), tags, explicit keys ("?") and directives. The caller bounds what
	// they expand to, and refuses those that it does not know.
	Aliases bool
}

// Text returns a document as text, without a byte order mark, which some editors write. Errors: *[Error] for one that
// is too large, that is not text in UTF-8, or that contains NUL.
func (l Limits) Text(document []byte) (string, error) {
	if len(document) > l.Bytes {
		return "", refuseAtLine(1, 1, "the document has %d bytes: %d are allowed", len(document), l.Bytes)
	}
	text := strings.TrimPrefix(string(document), "\uFEFF")
	if bad := badByte(text); bad < len(text) {
		before := text[:bad]
		line := before[strings.LastIndexByte(before, '\n')+1:]
		return "", refuseAtLine(1+strings.Count(before, "\n"), 1+utf8.RuneCountInString(line),
			"%s", badByteText(text[bad]))
	}
	return text, nil
}

// badByteText says what is wrong with a byte that badByte found.
func badByteText(bad byte) string {
	if bad == 0 {
		return "the document must not contain the NUL character"
	}
	return "the document must be text in UTF-8"
}

// badByte returns the offset of the first byte that is NUL, or not text in UTF-8; the length of the text if there is
// none.
func badByte(text string) int {
	for i, c := range text {
		if c == 0 { // Postgres stores no text with it
			return i
		}
		if _, size := utf8.DecodeRuneInString(text[i:]); c == utf8.RuneError && size == 1 {
			return i
		}
	}
	return len(text)
}

// YAML returns the syntax tree of the only document of a text. Errors: *[Error].
func (l Limits) YAML(text string) (ast.Node, error) {
	tokens := lexer.Tokenize(text)
	if err := l.checkTokens(tokens); err != nil {
		return nil, err
	}
	file, err := parseTokens(tokens)
	if err != nil {
		return nil, err
	}
	var only ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue // nothing stands between two separators, as after a last one
		}
		if only != nil {
			return nil, RefuseAt(doc.Body, "this begins a second document: one is allowed")
		}
		only = doc.Body
	}
	if only == nil {
		return nil, refuseAtLine(1, 1, "the document is empty: %s", l.EmptyHint)
	}
	return only, nil
}

// parseTokens calls the parser. The library has had panics on malformed input; one must not end a replica.
func parseTokens(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if recover() != nil {
			err = refuseAtLine(1, 1, "this is not YAML: it cannot be parsed")
		}
	}()
	if file, err = parser.Parse(tokens, 0); err == nil {
		return file, nil
	}
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		where, text := at.GetToken().Position, at.GetMessage()
		// A duplicate key is valid YAML: only the key is wrong.
		if !strings.HasPrefix(text, "mapping key ") {
			text = "this is not YAML: " + text
		}
		return nil, refuseAtLine(where.Line, where.Column, "%s", text)
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return nil, refuseAtLine(1, 1, "this is not YAML: %s", line)
}

// checkTokens refuses what nests too deeply, and what expands without bound, before the parser, which recurses.
// Brackets nest; so do the "-", "?", "&" and "!" of one line. Indentation is not counted: each level of it makes the
// lines longer, so that l.Bytes bounds it.
func (l Limits) checkTokens(tokens token.Tokens) error {
	brackets, line, marks := 0, 0, 0
	for _, t := range tokens {
		at := t.Position
		if at.Line != line {
			line, marks = at.Line, 0
		}
		switch t.Type {
		case token.AnchorType, token.AliasType, token.TagType, token.MergeKeyType, token.MappingKeyType, token.DirectiveType:
			// A few lines of aliases of aliases expand to gigabytes.
			if !l.Aliases {
				return refuseAtLine(at.Line, at.Column, "%q is not allowed: write the value out", t.Value)
			}
			marks++
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		case token.SequenceEntryType:
			marks++
		case token.CollectEntryType: // a comma: the marks before it belong to the value that it ends
			marks = 0
		default: // the other tokens do not nest
		}
		if brackets > l.Depth || marks > l.Depth {
			return refuseAtLine(at.Line, at.Column, "values are nested too deeply: %d levels are allowed", l.Depth)
		}
	}
	return nil
}

// NodeStart returns where a node begins. The token of a mapping without brackets is the colon after its first key.
func NodeStart(n ast.Node) (line, column int) {
	switch m := n.(type) {
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return NodeStart(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return NodeStart(m.Key)
	default: // the others begin with their token
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line, t.Position.Column
	}
	return 1, 1
}

// RefuseAt returns an *[Error] with one problem, where a node begins.
func RefuseAt(n ast.Node, format string, args ...any) error {
	line, column := NodeStart(n)
	return refuseAtLine(line, column, format, args...)
}

func refuseAtLine(line, column int, format string, args ...any) error {
	return &Error{Problems: []Problem{{Line: line, Column: column, Text: fmt.Sprintf(format, args...)}}}
}
