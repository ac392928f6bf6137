package poolfile

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/lattice-director/director/internal/base/document"
)

// limits bound a document: lists of mappings of lists are all that it has.
var limits = document.Limits{Bytes: MaxBytes, Depth: 16, Content: "it is a mapping with apps, pools or both"}

// position is where a value begins, counted from 1.
type position struct{ Line, Column int }

// positions are those of values, by path.
type positions map[string]position

// positionOf returns the position of a value, or of the closest value around one that is missing.
func (p positions) positionOf(path string) position {
	for path != "" {
		if at, ok := p[path]; ok {
			return at
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return position{1, 1}
}

// withPosition adds the path to a problem that has none and is about a value.
func (p positions) withPosition(err error) error {
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

// decode reads the YAML of a document. Errors: *Error.
func decode(raw []byte) (read poolDocument, at positions, err error) {
	text, err := limits.Text(raw)
	if err != nil {
		return read, nil, err
	}
	body, err := limits.YAML(text)
	if err != nil {
		return read, nil, err
	}
	at = positions{}
	at.add("", body)
	if err := decodeNode(body, &read); err != nil {
		return read, nil, at.withPosition(atPosition(body, err))
	}
	return read, at, nil
}

// decodeNode decodes strictly. The library has had panics on malformed input.
func decodeNode(body ast.Node, to *poolDocument) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("this cannot be read")
		}
	}()
	return yaml.NewDecoder(bytes.NewReader(nil), yaml.Strict()).DecodeFromNode(body, to)
}

// atPosition returns an error of the library as one of this package.
func atPosition(body ast.Node, err error) error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil {
		where := at.GetToken().Position
		return &Error{Problems: []Problem{{Line: where.Line, Column: where.Column, Text: messageOf(at)}}}
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return document.RefuseAt(body, "%s", text)
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
	line, column := document.Begin(n)
	p[path] = position{line, column}
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
