package profile

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// readYAML reads a document of YAML 1.2 as far as profiles need it: without tags, merge keys and keys that are not text.
// It returns nil after it reported a problem.
func readYAML(r *report, document string) *node {
	tokens := lexer.Tokenize(document)
	if deep := tooDeep(tokens); deep != nil {
		r.addAt(deep.Position.Line, deep.Position.Column, "", "values are nested too deeply: %d levels are allowed", maxDepth)
		return nil
	}
	file, err := parseYAML(tokens)
	if err != nil {
		var located yaml.Error
		if errors.As(err, &located) && located.GetToken() != nil {
			at := located.GetToken().Position
			r.addAt(at.Line, at.Column, "", "this is not YAML: %s", located.GetMessage())
			return nil
		}
		r.addAt(1, 1, "", "this is not YAML: %s", firstLine(err.Error()))
		return nil
	}
	return readFile(r, file)
}

// parseYAML calls the parser. The library has had panics on malformed input; one must not end a replica.
func parseYAML(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("it cannot be parsed")
		}
	}()
	return parser.Parse(tokens, 0)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// tooDeep returns the token at which the nesting exceeds maxDepth, or nil. It looks at tokens, because the parser recurses. Brackets
// nest; so do the "-", "?", "&" and "!" of one line. Deeper indentation makes lines longer, which bounds it.
func tooDeep(tokens token.Tokens) *token.Token {
	brackets, line, marks := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, marks = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets--
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.TagType:
			marks++
		case token.CollectEntryType:
			marks = 0
		default: // the other tokens do not nest
		}
		if brackets > maxDepth || marks > maxDepth {
			return t
		}
	}
	return nil
}

func readFile(r *report, file *ast.File) *node {
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil {
			bodies = append(bodies, doc.Body)
		}
	}
	if len(bodies) == 0 {
		r.addAt(1, 1, "", "the document is empty: a profile is a mapping with a name")
		return nil
	}
	if len(bodies) > 1 {
		at := position(bodies[1])
		r.addAt(at.Line, at.Column, "", "this begins a second document: one is allowed")
		return nil
	}
	y := &yamlReader{report: r, anchors: map[string]ast.Node{}}
	return y.read(bodies[0], 0)
}

// position returns where a node begins. The token of a mapping without brackets is the colon after its first key.
func position(n ast.Node) *token.Position {
	switch m := n.(type) {
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return position(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return position(m.Key)
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position
	}
	return &token.Position{Line: 1, Column: 1}
}

// yamlReader makes nodes of a syntax tree. It expands aliases, and counts every node, so that a document of nested aliases
// cannot grow without bound.
type yamlReader struct {
	*report

	anchors map[string]ast.Node
	nodes   int
}

// refuse reports a problem at a node of the syntax tree.
func (y *yamlReader) refuse(n ast.Node, format string, args ...any) *node {
	at := position(n)
	y.addAt(at.Line, at.Column, "", format, args...)
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
		return y.scalar(a, a.Value, a.Token.Type == token.StringType)
	case *ast.NullNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return y.scalar(a, a.GetToken().Value, true)
	}
	return y.refuse(a, "this is not allowed here: a mapping, a list, text, a number, true or false")
}

func (y *yamlReader) scalar(a ast.Node, text string, plain bool) *node {
	at := position(a)
	n := &node{kind: isText, line: at.Line, column: at.Column, text: text}
	if plain {
		n.setPlain(text)
	}
	return n
}

func (y *yamlReader) readList(a *ast.SequenceNode, depth int) *node {
	at := position(a)
	n := &node{kind: isList, line: at.Line, column: at.Column}
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
	at := position(a)
	n := &node{kind: isObject, line: at.Line, column: at.Column}
	seen := map[string]bool{}
	for _, v := range values {
		name, ok := y.readKey(v.Key)
		if !ok || !y.newKey(seen, name) {
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
	at := position(a)
	k := key{line: at.Line, column: at.Column}
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
