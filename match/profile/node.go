package profile

import (
	"math"
	"strconv"
	"strings"

	"github.com/lattice-director/director/internal/base/document"
	"github.com/lattice-director/director/match"
)

// Bounds of a document. A node is a value: an alias of YAML counts as often as it is used.
const (
	MaxBytes = 64 << 10
	maxDepth = 32      // far more than a profile has; checks go down by recursion
	maxNodes = 1 << 16 // some lines of aliases of aliases stand for billions of values
)

var limits = document.Limits{Bytes: MaxBytes, Depth: maxDepth, Aliases: true,
	EmptyHint: "a profile is a mapping with a name"}

// node is a value of a document, as YAML and JSON know it.
type node struct {
	kind         nodeKind
	line, column int
	path         string // set by the check of its parent, which knows its key or index
	isBad        bool   // it or a node below it has a problem

	plainText   string  // of a text; of a number as it is written
	numberValue float64 // of a number
	flagValue   bool    // of a flag
	itemNodes   []*node // of a list; the values of an object
	objectKeys  []key   // of an object, as many as itemNodes
}

// key is a key of an object.
type key struct {
	name         string
	line, column int
}

type nodeKind uint8

const (
	isNull nodeKind = iota
	isFlag
	isNumber
	isText
	isList
	isObject
)

// newKey adds a key to those that an object has, and returns false after it reported one that is there twice.
func (r *report) newKey(seen map[string]bool, k key) bool {
	if seen[k.name] {
		return r.addAt(k.line, k.column, "", "the key %q is there twice", shortenText(k.name))
	}
	seen[k.name] = true
	return true
}

// String names the kind in errors.
func (k nodeKind) String() string {
	return [...]string{"nothing", "a truth value", "a number", "text", "a list", "a mapping"}[k]
}

// valueOf returns the value of a key. It returns nil if n is not an object with that key.
func (n *node) valueOf(name string) *node {
	if n == nil {
		return nil
	}
	for i, k := range n.objectKeys {
		if k.name == name {
			return n.itemNodes[i]
		}
	}
	return nil
}

// hasKey reports whether the object has the key.
func (n *node) hasKey(name string) bool { return n.valueOf(name) != nil }

// isValid reports whether n is there and its check found nothing.
func (n *node) isValid() bool { return n != nil && !n.isBad }

// textShown returns the value for errors, shortened.
func (n *node) textShown() string {
	switch n.kind {
	case isFlag:
		return strconv.FormatBool(n.flagValue)
	case isNumber:
		return shortenText(n.plainText)
	case isText:
		return strconv.Quote(shortenText(n.plainText))
	default: // isNull, isList, isObject
		return n.kind.String()
	}
}

// shortenText bounds a text of the document that a problem repeats, so that no problem is longer than its document.
func shortenText(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// setPlain sets the kind and value of a scalar without quotes.
func (n *node) setPlain(text string) {
	n.plainText = text
	switch strings.ToLower(text) { // YAML 1.2 knows null, Null and NULL
	case "", "~", "null":
		n.kind = isNull
	case "true", "false":
		n.kind, n.flagValue = isFlag, strings.EqualFold(text, "true")
	case ".inf", "+.inf", "-.inf", ".nan":
		n.kind, n.numberValue = isNumber, math.NaN() // which each check of a number refuses
	default:
		n.kind = isText
		if match.IsNumber(text) {
			n.kind = isNumber
			n.numberValue, _ = strconv.ParseFloat(text, 64) // infinite when it is out of range, which checks refuse
		}
	}
}

// addProblem adds a problem of a node. It returns false, so that checks can end with it.
func (r *report) addProblem(n *node, format string, args ...any) bool {
	return r.addAt(n.line, n.column, n.path, format, args...)
}
