package poolfile

import (
	"math"
	"strconv"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/lattice-director/director/internal/base/document"
	"github.com/lattice-director/director/match"
)

// The numbers of a document are read as those of a profile are: the YAML library would take 010 for 8, 8.9 for 8 and
// 1_000 for 1000.
type (
	whole      int
	portNumber uint16
	protocolID uint64
	number     float64
)

// numberOf returns the text of a number; "" for null, which is as if the key were absent. Errors: *Error, with what is
// allowed.
func numberOf(n ast.Node, allowed string) (string, error) {
	if _, absent := n.(*ast.NullNode); absent {
		return "", nil
	}
	if _, isScalar := n.(ast.ScalarNode); !isScalar {
		return "", document.RefuseAt(n, "this must be %s", allowed)
	}
	text := n.GetToken().Value
	// In quotes it is text, also where all its characters are digits.
	if isText(n) || !match.IsNumber(text) {
		return "", document.RefuseAt(n, "%.40q must be %s", text, allowed)
	}
	return text, nil
}

// isText reports whether a scalar is text because of how it is written: in quotes, or as a block.
func isText(n ast.Node) bool {
	_, isBlock := n.(*ast.LiteralNode)
	plain, isString := n.(*ast.StringNode)
	// In quotes, a string's token has a type of its own.
	return isBlock || isString && plain.Token.Type != token.StringType
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (w *whole) UnmarshalYAML(n ast.Node) error {
	return unmarshalWhole(n, w, math.MinInt32, math.MaxInt32, "a whole number of at most 2147483647")
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (p *portNumber) UnmarshalYAML(n ast.Node) error {
	return unmarshalWhole(n, p, 0, math.MaxUint16, "a whole number from 0 to 65535")
}

// unmarshalWhole leaves the number as it is for null, which is as if the key were absent.
func unmarshalWhole[N whole | portNumber](n ast.Node, to *N, least, most int64, allowed string) error {
	text, err := numberOf(n, allowed)
	if err != nil || text == "" {
		return err
	}
	value, ok := match.ParseWhole(text)
	if !ok || value < least || value > most {
		return document.RefuseAt(n, "%.40q must be %s", text, allowed)
	}
	*to = N(value)
	return nil
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (p *protocolID) UnmarshalYAML(n ast.Node) error {
	const allowed = "a whole number from 0 to 18446744073709551615"
	text, err := numberOf(n, allowed)
	if err != nil || text == "" {
		return err
	}
	id, err := strconv.ParseUint(text, 10, 64) // a float would round it
	if err != nil {
		return document.RefuseAt(n, "%.40q must be %s", text, allowed)
	}
	*p = protocolID(id)
	return nil
}

// UnmarshalYAML implements yaml.NodeUnmarshaler.
func (f *number) UnmarshalYAML(n ast.Node) error {
	text, err := numberOf(n, "a number")
	if err != nil || text == "" {
		return err
	}
	value, problem := match.ParseNumber(text)
	if problem != "" {
		return document.RefuseAt(n, "%.40q %s", text, problem)
	}
	*f = number(value)
	return nil
}
