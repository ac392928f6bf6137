package rest

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/lattice-director/director/internal/base/nearest"
)

// similarPart is how many letters of a name stand for one that may be wrong: 2 of "profiles".
const similarPart = 3

// checkSpelling refuses names of the body, at any depth, that are probably misspelt names of fields of the struct that
// into points to: without the check, the request would silently ask for something else. Other unknown names are
// ignored. The body must be valid JSON.
func checkSpelling(body []byte, into any) error {
	s := speller{body: body}
	s.readValue(fieldsOf(reflect.TypeOf(into)), nil)
	return s.check.Err()
}

// fieldTree is what is known of a type's fields. Nil stands for values that have none, or that decode themselves.
type fieldTree struct {
	names          []string              // of a struct's fields; nil for maps and lists
	childrenByName map[string]*fieldTree // of a struct, by name
	valueTree      *fieldTree            // of each value of a map or list
}

// childOf returns the tree of a member; meant is the field that is probably meant, if the name is not that of a field.
func (t *fieldTree) childOf(name []byte) (child *fieldTree, meant string) {
	if t == nil {
		return nil, ""
	}
	if t.names == nil {
		return t.valueTree, ""
	}
	if child, known := t.childrenByName[string(name)]; known {
		return child, ""
	}
	text := string(name)
	// encoding/json decodes a name in any case into the field.
	if i := slices.IndexFunc(t.names, func(known string) bool { return strings.EqualFold(known, text) }); i >= 0 {
		return t.childrenByName[t.names[i]], ""
	}
	return nil, misspeltField(text, t.names)
}

// misspeltField returns the field that an unknown name probably stands for, or "".
func misspeltField(name string, known []string) string {
	// For a name that is longer than any field, the search would take time for nothing.
	if len(name) > maxPath {
		return ""
	}
	for _, k := range known {
		if nearest.NameFold(name, []string{k}, len(k)/similarPart) != "" {
			return k
		}
	}
	return ""
}

// speller reads a body and compares its names with those of a type.
type speller struct {
	body     []byte
	position int
	check    Check
}

// member is a place in the body; nil is the body itself.
type member struct {
	parent *member
	name   []byte // quoted; nil for an element of a list
	index  int    // of an element in its list
}

func (m *member) String() string {
	switch {
	case m == nil:
		return ""
	case m.name == nil:
		return elementName(m.parent.String(), m.index)
	case m.parent == nil:
		return unquotedName(m.name)
	}
	return m.parent.String() + "." + unquotedName(m.name)
}

// boundPath returns the path of a field for an answer.
func boundPath(path string) string { return strings.ToValidUTF8(path[:min(len(path), maxPath)], "") }

func unquotedName(name []byte) (text string) {
	_ = json.Unmarshal(name, &text) // encoding/json has read it before
	return text
}

// readValue reads one value.
func (s *speller) readValue(t *fieldTree, at *member) {
	s.skipSpace()
	switch s.body[s.position] {
	case '{':
		s.readObject(t, at)
	case '[':
		s.readList(t, at)
	case '"':
		s.position = stringEnd(s.body, s.position) + 1
	default:
		for s.position < len(s.body) && !strings.ContainsRune(",]} \t\r\n", rune(s.body[s.position])) {
			s.position++
		}
	}
}

func (s *speller) readObject(t *fieldTree, at *member) {
	for s.nextItem('}') {
		name := s.readName()
		s.skipSpace()
		s.position++ // the colon
		m := member{parent: at, name: name}
		child, meant := t.childOf(bareName(name))
		if meant != "" {
			s.check.addError(boundPath(m.String()),
				fmt.Sprintf("is not a field of this request; did you mean %q?", meant))
		}
		s.readValue(child, &m)
	}
}

func (s *speller) readList(t *fieldTree, at *member) {
	if t != nil {
		t = t.valueTree
	}
	for i := 0; s.nextItem(']'); i++ {
		s.readValue(t, &member{parent: at, index: i})
	}
}

// nextItem moves behind an opening bracket or a comma, and reports false at the end of the object or list, which it
// moves behind.
func (s *speller) nextItem(end byte) bool {
	s.skipSpace()
	s.position++
	if s.body[s.position-1] == end {
		return false
	}
	s.skipSpace()
	if s.body[s.position] == end { // an empty one
		s.position++
		return false
	}
	return true
}

// readName reads the name of a member, with its quotes.
func (s *speller) readName() []byte {
	begin := s.position
	s.position = stringEnd(s.body, s.position) + 1
	return s.body[begin:s.position]
}

// bareName returns a name without its quotes and escapes.
func bareName(quoted []byte) []byte {
	if slices.Contains(quoted, '\\') {
		return []byte(unquotedName(quoted))
	}
	return quoted[1 : len(quoted)-1]
}

func (s *speller) skipSpace() {
	for s.position < len(s.body) && strings.IndexByte(" \t\r\n", s.body[s.position]) >= 0 {
		s.position++
	}
}

// fieldTrees has the tree of each type of request, by [reflect.Type].
var fieldTrees sync.Map

// fieldsOf returns the tree of a type, which it builds once.
func fieldsOf(t reflect.Type) *fieldTree {
	if tree, ok := fieldTrees.Load(t); ok {
		return tree.(*fieldTree)
	}
	// Two first requests may both build the tree, which is equal.
	tree := buildFields(t, map[reflect.Type]*fieldTree{})
	fieldTrees.Store(t, tree)
	return tree
}

var decodesItself = []reflect.Type{reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()}

// buildFields builds the tree of a type; seen are the structs that contain it.
func buildFields(t reflect.Type, seen map[reflect.Type]*fieldTree) *fieldTree {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	// A type that contains itself has the tree that is being built.
	if tree, ok := seen[t]; ok || slices.ContainsFunc(decodesItself, reflect.PointerTo(t).Implements) {
		return tree
	}
	switch t.Kind() {
	case reflect.Map, reflect.Slice, reflect.Array:
		if values := buildFields(t.Elem(), seen); values != nil {
			return &fieldTree{valueTree: values}
		}
	case reflect.Struct:
		tree := &fieldTree{childrenByName: map[string]*fieldTree{}}
		seen[t] = tree
		for _, f := range reflect.VisibleFields(t) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				tree.names, tree.childrenByName[name] = append(tree.names, name), buildFields(f.Type, seen)
			}
		}
		return tree
	default: // values without names
	}
	return nil
}
