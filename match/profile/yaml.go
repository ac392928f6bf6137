package profile

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/lattice-director/director/internal/base/document"
)

// readYAML reads a document of YAML 1.2 as far as profiles need it: without tags, merge keys and keys that are not
// text. It returns nil after it reported a problem.
func readYAML(r *report, document string) *node {
	body, err := limits.YAML(document)
	if err != nil {
		r.addError(err)
		return nil
	}
	y := &yamlReader{report: r, anchors: map[string]ast.Node{}}
	return y.read(body, 0)
}

// yamlReader makes nodes of a syntax tree. It expands aliases, and counts every node, so that a document of nested
// aliases cannot grow without bound.
type yamlReader struct {
	report  *report
	anchors map[string]ast.Node
	nodes   int
}

// refuse reports a problem at a node of the syntax tree.
func (y *yamlReader) refuse(n ast.Node, format string, args ...any) *node {
	line, column := document.Begin(n)
	y.report.addAt(line, column, "", format, args...)
	return nil
}

// read returns nil after it reported a problem.
func (y *yamlReader) read(a ast.Node, depth int) *node {
	if y.nodes++; y.nodes > maxNodes {
		return y.refuse(a, "the document has too many values: %d are allowed, those of aliases included", maxNodes)
	}
	if depth > maxDepth {
		return y.refuse(a, "values are nested too deeply: %d levels are allowed", maxDepth)
	}
	switch a := a.(type) {
	case *ast.MappingNode:
		return y.readObject(a, a.Values, depth)
	case *ast.MappingValueNode:
		return y.readObject(a, []*ast.MappingValueNode{a}, depth)
	case *ast.SequenceNode:
		return y.readList(a, depth)
	case *ast.AnchorNode:
		n := y.read(a.Value, depth)
		y.anchors[a.Name.GetToken().Value] = a.Value // now, so that no alias is within its own anchor
		return n
	case *ast.AliasNode:
		target, ok := y.anchors[a.Value.GetToken().Value]
		if !ok {
			return y.refuse(a, "the alias %q has no anchor before it", shorten(a.Value.GetToken().Value))
		}
		return y.read(target, depth+1)
	case *ast.TagNode:
		return y.refuse(a, "a tag is not allowed: write the value alone")
	case *ast.LiteralNode:
		return y.scalar(a, a.Value.Value, false)
	case *ast.StringNode:
		// Without quotes, setPlain decides what it is; within quotes it stays text.
		return y.scalar(a, a.Value, a.Token.Type == token.StringType)
	case *ast.NullNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return y.scalar(a, a.GetToken().Value, true)
	}
	return y.refuse(a, "this is not allowed here: a mapping, a list, text, a number, true or false")
}

func (y *yamlReader) scalar(a ast.Node, text string, plain bool) *node {
	line, column := document.Begin(a)
	n := &node{kind: isText, line: line, column: column, text: text}
	if plain {
		n.setPlain(text)
	}
	return n
}

func (y *yamlReader) readList(a *ast.SequenceNode, depth int) *node {
	line, column := document.Begin(a)
	n := &node{kind: isList, line: line, column: column}
	for _, value := range a.Values {
		item := y.read(value, depth+1)
		if item == nil {
			return nil
		}
		n.items = append(n.items, item)
	}
	return n
}

func (y *yamlReader) readObject(a ast.Node, values []*ast.MappingValueNode, depth int) *node {
	line, column := document.Begin(a)
	n := &node{kind: isObject, line: line, column: column}
	seen := map[string]bool{}
	for _, v := range values {
		name, ok := y.readKey(v.Key)
		if !ok || !y.report.newKey(seen, name) {
			return nil
		}
		item := y.read(v.Value, depth+1)
		if item == nil {
			return nil
		}
		n.keys, n.items = append(n.keys, name), append(n.items, item)
	}
	return n
}

func (y *yamlReader) readKey(a ast.MapKeyNode) (key, bool) {
	line, column := document.Begin(a)
	k := key{line: line, column: column}
	switch a := a.(type) {
	case *ast.StringNode:
		k.name = a.Value
	case *ast.NullNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode:
		k.name = a.GetToken().Value // plain keys are text here: the name of an attribute may be 5v5 or 2
	case *ast.MergeKeyNode:
		y.refuse(a, "a merge key is not allowed: write the keys out")
		return k, false
	default:
		y.refuse(a, "this key is not allowed: a key is text on one line")
		return k, false
	}
	return k, true
}
