package profile

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// jsonReader makes nodes of a valid JSON document. JSON has a reader of its own, because YAML's differs in details:
// tabs as indentation, escapes, and numbers such as 1e3.
type jsonReader struct {
	report    *report
	document  string
	tokens    *json.Decoder
	position  cursor
	nodeCount int
}

// isJSON reports whether a document is a JSON object.
func isJSON(document string) bool {
	// The document must be valid as a whole, since mappings of YAML may begin with { as well.
	return strings.HasPrefix(strings.TrimLeft(document, " \t\r\n"), "{") && json.Valid([]byte(document))
}

// readJSON reads a document for which isJSON is true. It returns nil after it reported a problem.
func readJSON(r *report, document string) *node {
	tokens := json.NewDecoder(bytes.NewReader([]byte(document)))
	tokens.UseNumber() // a float64 would round numbers whose digits the check has to refuse
	j := &jsonReader{report: r, document: document, tokens: tokens, position: cursor{line: 1, column: 1}}
	return j.readValue(0)
}

// nextToken returns the next token and moves to where it begins.
func (j *jsonReader) nextToken() json.Token {
	begin := int(j.tokens.InputOffset())
	// The decoder is right behind the last token, and skips the characters before the next one when it reads that.
	begin += len(j.document[begin:]) - len(strings.TrimLeft(j.document[begin:], " \t\r\n,:"))
	j.position.moveTo(j.document, begin)
	t, _ := j.tokens.Token() // the document is valid
	return t
}

// readValue reads the next value. It returns nil after it reported a problem.
func (j *jsonReader) readValue(depth int) *node {
	t := j.nextToken()
	n := &node{line: j.position.line, column: j.position.column}
	j.nodeCount++
	if j.nodeCount > maxNodes || depth > maxDepth {
		j.report.addAt(n.line, n.column, "",
			"values are nested too deeply, or too many: %d levels and %d values are allowed", maxDepth, maxNodes)
		return nil
	}
	// No case for null: a new node is one.
	switch t := t.(type) {
	case json.Delim:
		return j.readNested(n, t == '{', depth)
	case string:
		n.kind, n.plainText = isText, t
	case json.Number:
		n.setPlain(t.String())
	case bool:
		n.kind, n.flagValue = isFlag, t
	}
	return n
}

// readNested reads the rest of a list or an object.
func (j *jsonReader) readNested(n *node, object bool, depth int) *node {
	n.kind = isList
	if object {
		n.kind = isObject
	}
	seen := map[string]bool{}
	for j.tokens.More() {
		if object {
			name, _ := j.nextToken().(string)
			k := key{name: name, line: j.position.line, column: j.position.column}
			if !j.report.newKey(seen, k) {
				return nil
			}
			n.objectKeys = append(n.objectKeys, k)
		}
		item := j.readValue(depth + 1)
		if item == nil {
			return nil
		}
		n.itemNodes = append(n.itemNodes, item)
	}
	j.nextToken() // the closing bracket
	return n
}

// cursor is a position that only moves forward.
type cursor struct {
	offset, line, column int
}

// moveTo moves to an offset in bytes and counts the lines and characters on the way.
func (c *cursor) moveTo(document string, offset int) {
	passed := document[c.offset:offset]
	if last := strings.LastIndexByte(passed, '\n'); last >= 0 {
		c.line += strings.Count(passed, "\n")
		c.column = 1
		passed = passed[last+1:]
	}
	c.column += utf8.RuneCountInString(passed)
	c.offset = offset
}
