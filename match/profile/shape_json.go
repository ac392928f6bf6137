package profile

import (
	"fmt"
	"math"
	"strings"
)

// anyJSON is any value that JSON can hold, up to a size.
type anyJSON struct {
	maxBytes int
}

func (anyJSON) takesNode(*node) bool { return true }

func (s anyJSON) checkNode(r *report, n *node) bool {
	n.setPath(n.path)
	if !checkJSON(r, n) {
		return false
	}
	// The size of the stored form, without the spaces and comments of the document.
	if size := len(encodeJSON(n.jsonValue())); size > s.maxBytes {
		return r.addProblem(n, "%d bytes as JSON are too many: it must be %s", size, s.describeAllowed())
	}
	return true
}

// checkJSON refuses what neither JSON nor a jsonb of Postgres can hold.
func checkJSON(r *report, n *node) bool {
	if n.kind == isNumber && (math.IsNaN(n.numberValue) || math.IsInf(n.numberValue, 0)) {
		return r.addProblem(n, "%s is not allowed: it must be a finite number", n.textShown())
	}
	ok := true
	if n.kind == isText && strings.ContainsRune(n.plainText, 0) {
		ok = r.addProblem(n, "the character U+0000 is not allowed")
	}
	for i, item := range n.itemNodes {
		if n.kind == isObject && strings.ContainsRune(n.objectKeys[i].name, 0) {
			ok = r.addAt(n.objectKeys[i].line, n.objectKeys[i].column, n.path, "the character U+0000 is not allowed")
		}
		ok = checkJSON(r, item) && ok // the item is checked even after a problem, to report all
	}
	return ok
}

// setPath sets the path of n and of all below it, for which lines and columns are enough.
func (n *node) setPath(path string) {
	n.path = path
	for _, item := range n.itemNodes {
		item.setPath(path)
	}
}

func (s anyJSON) describeAllowed() string {
	return fmt.Sprintf("any value of at most %d bytes as JSON", s.maxBytes)
}

func (anyJSON) jsonSchema() schema { return schema{} }
