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
	y := &yamlReader{report: r, anchorNodes: map[string]ast.Node{}}
	return y.readNode(body, 0)
}

// yamlReader makes nodes of a syntax tree. It expands aliases, and counts every node, so that a document of nested
// aliases cannot grow without bound.
type yamlReader struct {
	report      *report
	anchorNodes map[string]ast.Node
	nodeCount   int
}

// refuseNode reports a problem at a node of the syntax tree. It returns nil, so that reading can end with it.
func (y *yamlReader) refuseNode(n ast.Node, format string, args ...any) *node {
	line, column := document.NodeStart(n)
	y.report.addAt(line, column, "", format, args...)
	return nil
}

// readNode makes a node of one of the syntax tree. It returns nil after it reported a problem.
func (y *yamlReader) readNode(a ast.Node, depth int) *node {
	// An alias counts as all values that it stands for: few lines of aliases can stand for billions.
	y.nodeCount++
	if y.nodeCount > maxNodes {
		return y.refuseNode(a, "the document has too many values: %d are allowed, those of aliases included", maxNodes)
	}
	if depth > maxDepth {
		return y.refuseNode(a, "values are nested too deeply: %d levels are allowed", maxDepth)
	}
	switch a := a.(type) {
	case *ast.MappingNode:
		return y.readObject(a, a.Values, depth)
	case *ast.MappingValueNode:
		return y.readObject(a, []*ast.MappingValueNode{a}, depth)
	case *ast.SequenceNode:
		return y.readList(a, depth)
	case *ast.AnchorNode:
		n := y.readNode(a.Value, depth)
		y.anchorNodes[a.Name.GetToken().Value] = a.Value // after it was read, so that no alias is within its own anchor
		return n
	case *ast.AliasNode:
		target, ok := y.anchorNodes[a.Value.GetToken().Value]
		if !ok {
			return y.refuseNode(a, "the alias %q has no anchor before it", shortenText(a.Value.GetToken().Value))
		}
		return y.readNode(target, depth+1) // deeper, so that a chain of aliases ends
	case *ast.TagNode:
		return y.refuseNode(a, "a tag is not allowed: write the value alone")
	// A block of lines is text, whatever it looks like.
	case *ast.LiteralNode:
		return y.readScalar(a, a.Value.Value, false)
	case *ast.StringNode:
		// Within quotes it stays text; without, setPlain decides what it is.
		return y.readScalar(a, a.Value, a.Token.Type == token.StringType)
	case *ast.NullNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		// setPlain decides by the text and not by the parser's type, so that YAML and JSON agree on what a number is.
		return y.readScalar(a, a.GetToken().Value, true)
	}
	return y.refuseNode(a, "this is not allowed here: a mapping, a list, text, a number, true or false")
}

// readScalar makes a node of a text. A plain one, which has no quotes, may be a number, a truth value or null.
func (y *yamlReader) readScalar(a ast.Node, text string, plain bool) *node {
	line, column := document.NodeStart(a)
	n := &node{kind: isText, line: line, column: column, plainText: text}
	if plain {
		n.setPlain(text)
	}
	return n
}

func (y *yamlReader) readList(a *ast.SequenceNode, depth int) *node {
	line, column := document.NodeStart(a)
	n := &node{kind: isList, line: line, column: column}
	for _, value := range a.Values {
		item := y.readNode(value, depth+1)
		if item == nil {
			return nil
		}
		n.itemNodes = append(n.itemNodes, item)
	}
	return n
}

func (y *yamlReader) readObject(a ast.Node, values []*ast.MappingValueNode, depth int) *node {
	line, column := document.NodeStart(a)
	n := &node{kind: isObject, line: line, column: column}
	seen := map[string]bool{}
	for _, v := range values {
		name, ok := y.readKey(v.Key)
		if !ok || !y.report.newKey(seen, name) {
			return nil
		}
		item := y.readNode(v.Value, depth+1)
		if item == nil {
			return nil
		}
		n.objectKeys, n.itemNodes = append(n.objectKeys, name), append(n.itemNodes, item)
	}
	return n
}

// readKey returns a key of a mapping; false after it reported one that is no text.
func (y *yamlReader) readKey(a ast.MapKeyNode) (key, bool) {
	line, column := document.NodeStart(a)
	k := key{line: line, column: column}
	switch a := a.(type) {
	case *ast.StringNode:
		k.name = a.Value
	case *ast.NullNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode:
		k.name = a.GetToken().Value // plain keys are text here: the name of an attribute may be 5v5 or 2
	case *ast.MergeKeyNode:
		y.refuseNode(a, "a merge key is not allowed: write the keys out")
		return k, false
	default:
		y.refuseNode(a, "this key is not allowed: a key is text on one line")
		return k, false
	}
	return k, true
}
