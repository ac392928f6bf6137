package poolfile

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxDepth bounds the nesting: lists of mappings of lists are all that a document has.
const maxDepth = 16

// position is where a value begins, counted from 1.
type position struct{ Line, Column int }

// positions are those of values, by path.
type positions map[string]position

// of returns the position of a value, or of the closest value around one that is missing.
func (p positions) of(path string) position {
	for path != "" {
		if at, ok := p[path]; ok {
			return at
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return position{1, 1}
}

// named adds the path to a problem that has none and is about a value.
func (p positions) named(err error) error {
	refused, ok := errors.AsType[*Error](err)
	if !ok || refused.Problems[0].Path != "" {
		return err
	}
	first := &refused.Problems[0]
	for path, at := range p { // a mapping begins where its first key does, and no value there
		if at == (position{first.Line, first.Column}) && len(path) > len(first.Path) {
			first.Path = path
		}
	}
	return err
}

func refuse(at position, format string, args ...any) error {
	return &Error{Problems: []Problem{{Line: at.Line, Column: at.Column, Text: fmt.Sprintf(format, args...)}}}
}

// decode reads the YAML of a document. Errors: *Error.
func decode(text []byte) (read poolDocument, at positions, err error) {
	if len(text) > MaxBytes {
		return read, nil, refuse(position{1, 1}, "the document has %d bytes: %d are allowed", len(text), MaxBytes)
	}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return read, nil, refuse(position{1, 1}, "the document must be text in UTF-8")
	}
	defer func() { // the library has had panics on malformed input
		if recover() != nil {
			read, at, err = poolDocument{}, nil, refuse(position{1, 1}, "this is not YAML")
		}
	}()
	tokens := lexer.Tokenize(string(text))
	if err := checkTokens(tokens); err != nil {
		return read, nil, err
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return read, nil, atPosition(err)
	}
	body, err := onlyBody(file)
	if err != nil {
		return read, nil, err
	}
	at = positions{}
	at.add("", body)
	decoder := yaml.NewDecoder(bytes.NewReader(nil), yaml.Strict())
	if err := decoder.DecodeFromNode(body, &read); err != nil {
		return read, nil, at.named(atPosition(err))
	}
	return read, at, nil
}

// checkTokens refuses what expands or nests without bound, before the parser, which recurses.
func checkTokens(tokens token.Tokens) error {
	brackets, line, marks := 0, 0, 0
	for _, t := range tokens {
		at := position{t.Position.Line, t.Position.Column}
		if t.Position.Line != line {
			line, marks = t.Position.Line, 0
		}
		switch t.Type {
		case token.AnchorType, token.AliasType, token.TagType, token.MergeKeyType, token.MappingKeyType, token.DirectiveType:
			return refuse(at, "%q is not allowed: write the value out", t.Value)
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		case token.SequenceEntryType:
			marks++
		default: // the other tokens do not nest
		}
		if brackets > maxDepth || marks > maxDepth || t.Position.Column > 1000 && t.Type == token.MappingValueType {
			return refuse(at, "values are nested too deeply")
		}
	}
	return nil
}

func onlyBody(file *ast.File) (ast.Node, error) {
	var body ast.Node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil:
		case body != nil:
			return nil, refuse(positionOf(doc.Body), "this begins a second document: one is allowed")
		default:
			body = doc.Body
		}
	}
	if body == nil {
		return nil, refuse(position{1, 1}, "the document is empty: it is a mapping with apps, pools or both")
	}
	return body, nil
}

// atPosition returns an error of the library as one of this package.
func atPosition(err error) error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		return refuse(position{at.GetToken().Position.Line, at.GetToken().Position.Column}, "%s", messageOf(at))
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return refuse(position{1, 1}, "%s", text)
}

// messageOf returns what is wrong. Where a value has another kind than is expected, the library names types of Go.
func messageOf(err yaml.Error) string {
	if kind, ok := errors.AsType[*yaml.TypeError](err); ok {
		return "this must be " + kindText(kind.DstType.Kind())
	}
	if kind, ok := errors.AsType[*yaml.UnexpectedNodeTypeError](err); ok {
		switch kind.Expected {
		case ast.SequenceType:
			return "this must be " + kindText(reflect.Slice)
		case ast.MappingType:
			return "this must be " + kindText(reflect.Struct)
		default:
			return "this must be " + kind.Expected.YAMLName()
		}
	}
	return err.GetMessage()
}

func kindText(kind reflect.Kind) string {
	switch kind {
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list, as [a, b]"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "a mapping, as {key: value}"
	case reflect.String:
		return "text"
	default:
		return "a number"
	}
}

// add notes where a value and what it holds begin.
func (p positions) add(path string, n ast.Node) {
	p[path] = positionOf(n)
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			p.addValue(path, v)
		}
	case *ast.MappingValueNode:
		p.addValue(path, n)
	case *ast.SequenceNode:
		for i, v := range n.Values {
			p.add(fmt.Sprintf("%s[%d]", path, i), v)
		}
	default: // it holds nothing
	}
}

func (p positions) addValue(path string, v *ast.MappingValueNode) {
	key := v.Key.GetToken().Value
	if path != "" {
		key = path + "." + key
	}
	p.add(key, v.Value)
}

// positionOf returns where a node begins. The token of a mapping without brackets is the colon after its first key.
func positionOf(n ast.Node) position {
	switch m := n.(type) {
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return positionOf(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return positionOf(m.Key)
	default: // the others begin with their token
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return position{t.Position.Line, t.Position.Column}
	}
	return position{1, 1}
}
