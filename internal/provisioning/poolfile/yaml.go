package poolfile

import (
	"bytes"
	"errors"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/lattice-director/director/internal/base/document"
)

// contentHint says what a document is.
const contentHint = "it is a mapping with apps, pools, projects or several of them"

// limits bound a document: lists of mappings of lists are all that it has.
var limits = document.Limits{Bytes: MaxBytes, Depth: 16, EmptyHint: contentHint}

// decodeYAML reads the YAML of a document. Errors: *Error.
func decodeYAML(raw []byte) (read poolDocument, at document.Positions, err error) {
	text, err := limits.Text(raw)
	if err != nil {
		return read, nil, err
	}
	body, err := limits.YAML(text)
	if err != nil {
		return read, nil, err
	}
	at = document.PositionsOf(body)
	if err := decodeNode(body, &read); err != nil {
		return read, nil, at.WithPath(atPosition(body, err))
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
	// The decoder reads the tree that Limits has checked, and nothing of its input.
	return yaml.NewDecoder(bytes.NewReader(nil), yaml.Strict()).DecodeFromNode(body, to)
}

// atPosition returns an error of the library as one of this package.
func atPosition(body ast.Node, err error) error {
	// An UnmarshalYAML of this package has refused a value, and knows where it is.
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

// kindText names a kind of Go in words of YAML.
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
