package document

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Position is where a value begins, counted from 1.
type Position struct{ Line, Column int }

// Positions are those of the values of a document, by path, such as "apps[0].ports[1].name".
type Positions map[string]Position

// PositionsOf returns where the values of a syntax tree begin. Values of aliases are where the alias is.
func PositionsOf(body ast.Node) Positions {
	p := Positions{}
	p.addNode("", body)
	return p
}

// ReadPositions returns where the values of a document begin; nil for one that is not YAML.
func (l Limits) ReadPositions(raw []byte) Positions {
	text, err := l.Text(raw)
	if err != nil {
		return nil
	}
	body, err := l.YAML(text)
	if err != nil {
		return nil
	}
	return PositionsOf(body)
}

// Has reports whether the document has a value at a path.
func (p Positions) Has(path string) bool { _, has := p[path]; return has }

// At returns the position of a value, or of the closest value around one that is missing.
func (p Positions) At(path string) Position {
	// Outwards: a field that is missing has the position of the mapping that lacks it.
	for path != "" {
		if at, ok := p[path]; ok {
			return at
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return Position{1, 1}
}

// ProblemAt returns a problem of a value, with its position.
func (p Positions) ProblemAt(path, text string) Problem {
	at := p.At(path)
	return Problem{Line: at.Line, Column: at.Column, Path: path, Text: text}
}

// WithPath adds the path to a problem that has none and is about a value. Errors other than *[Error] stay as they are.
func (p Positions) WithPath(err error) error {
	refused, ok := errors.AsType[*Error](err)
	if !ok || refused.Problems[0].Path != "" {
		return err
	}
	first := &refused.Problems[0]
	// Of the values that begin at one place, the innermost, whose path is the longest, has the problem.
	for path, at := range p {
		if at == (Position{first.Line, first.Column}) && len(path) > len(first.Path) {
			first.Path = path
		}
	}
	return err
}

// addNode notes where a value and what it holds begin.
func (p Positions) addNode(path string, n ast.Node) {
	line, column := NodeStart(n)
	p[path] = Position{line, column}
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			p.addValue(path, v)
		}
	case *ast.MappingValueNode:
		p.addValue(path, n)
	case *ast.SequenceNode:
		for i, v := range n.Values {
			p.addNode(fmt.Sprintf("%s[%d]", path, i), v)
		}
	// The path is that of the value; the anchor only names it.
	case *ast.AnchorNode:
		p.addNode(path, n.Value)
	default: // it holds nothing
	}
}

func (p Positions) addValue(path string, v *ast.MappingValueNode) {
	key := v.Key.GetToken().Value
	// A key at the top has no path before it.
	if path != "" {
		key = path + "." + key
	}
	p.addNode(key, v.Value)
}
