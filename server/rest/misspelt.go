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
	s.value(fieldsOf(reflect.TypeOf(into)), nil)
	return s.check.Err()
}

// fieldTree is what is known of a type's fields. Nil stands for values that have none, or that decode themselves.
type fieldTree struct {
	names  []string              // of a struct's fields; nil for maps and lists
	fields map[string]*fieldTree // of a struct, by name
	values *fieldTree            // of each value of a map or list
}

// child returns the tree of a member, and its name if that is probably a misspelt one.
func (t *fieldTree) child(name []byte) (child *fieldTree, meant string) {
	if t.names == nil {
		return t.values, ""
	}
	if child, known := t.fields[string(name)]; known {
		return child, ""
	}
	text := string(name)
	if i := slices.IndexFunc(t.names, func(known string) bool { return strings.EqualFold(known, text) }); i >= 0 {
		return t.fields[t.names[i]], ""
	}
	return nil, misspelt(text, t.names)
}

// misspelt returns the field that an unknown name probably stands for, or "".
func misspelt(name string, known []string) string {
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

// member is a place in the body. A parent of nil is the body itself.
type member struct {
	parent *member
	name   []byte // quoted; nil for an element of a list
	index  int
}

func (m *member) String() string {
	switch {
	case m == nil:
		return ""
	case m.name == nil:
		return element(m.parent.String(), m.index)
	case m.parent == nil:
		return unquoted(m.name)
	}
	return m.parent.String() + "." + unquoted(m.name)
}

// bounded returns the path of a field for an answer.
func bounded(path string) string { return strings.ToValidUTF8(path[:min(len(path), maxPath)], "") }

func unquoted(name []byte) (text string) {
	_ = json.Unmarshal(name, &text) // encoding/json has read it before
	return text
}

// value reads one value.
func (s *speller) value(t *fieldTree, at *member) {
	switch s.skipSpace(); s.body[s.position] {
	case '{':
		s.object(t, at)
	case '[':
		s.list(t, at)
	case '"':
		s.position = stringEnd(s.body, s.position) + 1
	default:
		for s.position < len(s.body) && !strings.ContainsRune(",]} \t\r\n", rune(s.body[s.position])) {
			s.position++
		}
	}
}

func (s *speller) object(t *fieldTree, at *member) {
	for s.next('}') {
		name := s.name()
		s.skipSpace()
		s.position++ // the colon
		m := member{parent: at, name: name}
		var child *fieldTree
		if t != nil {
			var meant string
			if child, meant = t.child(bare(name)); meant != "" {
				s.check.add(bounded(m.String()), fmt.Sprintf("is not a field of this request; did you mean %q?", meant))
			}
		}
		s.value(child, &m)
	}
}

func (s *speller) list(t *fieldTree, at *member) {
	if t != nil {
		t = t.values
	}
	for i := 0; s.next(']'); i++ {
		s.value(t, &member{parent: at, index: i})
	}
}

// next moves behind an opening bracket or a comma, and reports false at the end of the object or list, which it moves
// behind.
func (s *speller) next(end byte) bool {
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

// name reads the name of a member, with its quotes.
func (s *speller) name() []byte {
	begin := s.position
	s.position = stringEnd(s.body, s.position) + 1
	return s.body[begin:s.position]
}

// bare returns a name without its quotes and escapes.
func bare(quoted []byte) []byte {
	if slices.Contains(quoted, '\\') {
		return []byte(unquoted(quoted))
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
	if tree, ok := seen[t]; ok || slices.ContainsFunc(decodesItself, reflect.PointerTo(t).Implements) {
		return tree
	}
	switch t.Kind() {
	case reflect.Map, reflect.Slice, reflect.Array:
		if values := buildFields(t.Elem(), seen); values != nil {
			return &fieldTree{values: values}
		}
	case reflect.Struct:
		tree := &fieldTree{fields: map[string]*fieldTree{}}
		seen[t] = tree
		for _, f := range reflect.VisibleFields(t) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				tree.names, tree.fields[name] = append(tree.names, name), buildFields(f.Type, seen)
			}
		}
		return tree
	default: // values without names
	}
	return nil
}
