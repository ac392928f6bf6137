package profile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// list is a list of values of one shape.
type list struct {
	element  shape
	min, max int
	distinct bool
}

func (s list) takes(n *node) bool { return n.kind == isList }

func (s list) check(r *report, n *node) bool {
	if n.kind != isList || len(n.items) < s.min || len(n.items) > s.max {
		return r.add(n, "%s is not allowed: it must be %s", n.counted(), s.description())
	}
	for i, item := range n.items {
		item.path = fmt.Sprintf("%s[%d]", n.path, i)
		if !s.element.check(r, item) {
			n.bad = true
			item.bad = true
		}
	}
	if s.distinct {
		s.checkDistinct(r, n)
	}
	return !n.bad
}

func (s list) checkDistinct(r *report, n *node) {
	seen := map[string]bool{}
	for _, item := range n.items {
		if item.kind == isText && seen[item.text] {
			n.bad = true
			r.add(item, "%s is there twice", item.textShown())
		}
		seen[item.text] = true
	}
}

// counted is shown with the length of lists and mappings.
func (n *node) counted() string {
	switch n.kind {
	case isList:
		return fmt.Sprintf("a list of %d", len(n.items))
	case isObject:
		return fmt.Sprintf("a mapping of %d keys", len(n.items))
	case isNull, isFlag, isNumber, isText:
	}
	return n.textShown()
}

func (s list) description() string { return fmt.Sprintf("a list of %d to %d", s.min, s.max) }

func (s list) schema() schema {
	out := schema{"type": "array", "items": s.element.schema(), "maxItems": s.max}
	if s.min > 0 {
		out["minItems"] = s.min
	}
	if s.distinct {
		out["uniqueItems"] = true
	}
	return out
}

// dict is a mapping with keys that the author chooses.
type dict struct {
	key      text
	element  shape
	min, max int
}

func (s dict) takes(n *node) bool { return n.kind == isObject }

func (s dict) check(r *report, n *node) bool {
	if n.kind != isObject || len(n.items) < s.min || len(n.items) > s.max {
		return r.add(n, "%s is not allowed: it must be %s", n.counted(), s.description())
	}
	for i, item := range n.items {
		k := n.keys[i]
		item.path = join(n.path, k.name)
		ok := s.element.check(r, item)
		if !s.key.pattern.MatchString(k.name) {
			ok = r.addAt(k.line, k.column, n.path, "the key %s is not allowed: it must be %s",
				strconv.Quote(shorten(k.name)), s.key.what)
		}
		if !ok {
			n.bad, item.bad = true, true
		}
	}
	return !n.bad
}

func (s dict) description() string { return fmt.Sprintf("a mapping of %d to %d keys", s.min, s.max) }

func (s dict) schema() schema {
	out := schema{
		"type": "object", "additionalProperties": s.element.schema(), "maxProperties": s.max,
		"propertyNames": schema{"pattern": s.key.pattern.String()},
	}
	if s.min > 0 {
		out["minProperties"] = s.min
	}
	return out
}

func join(path, name string) string {
	if path == "" {
		return shorten(name)
	}
	return path + "." + shorten(name)
}

// object is a mapping with known keys.
type object struct {
	what   string // such as "a team"
	fields []field
}

// field is a key of an object.
type field struct {
	name     string
	shape    shape
	required bool
	initial  string // the default, for people; "" if the text says it or there is none
	about    string
}

func (s object) takes(n *node) bool { return n.kind == isObject }

func (s object) check(r *report, n *node) bool {
	if n.kind != isObject {
		return r.add(n, "%s is not allowed: it must be %s", n.textShown(), s.description())
	}
	ok := true
	meant := map[string]bool{}
	for i, item := range n.items {
		item.path = join(n.path, n.keys[i].name)
		f := slices.IndexFunc(s.fields, func(f field) bool { return f.name == n.keys[i].name })
		if f < 0 {
			meant[s.unknown(r, n, n.keys[i])] = true
			ok = false
			continue
		}
		if !s.fields[f].shape.check(r, item) {
			item.bad, ok = true, false
		}
	}
	for _, f := range s.fields {
		// A mistyped key is reported once, and not as a missing one as well.
		if f.required && !n.has(f.name) && !meant[f.name] {
			ok = r.add(n, "%s needs the key %s: %s", s.what, f.name, f.shape.description())
		}
	}
	n.bad = !ok
	return ok
}

// unknown reports a key that the object does not have. It returns the key that was probably meant, or "".
func (s object) unknown(r *report, n *node, k key) string {
	near := nearestTo(k.name, s.names())
	if near != "" {
		r.addAt(k.line, k.column, join(n.path, k.name), "%s has no such key: did you mean %s?", s.what, near)
	} else {
		r.addAt(k.line, k.column, join(n.path, k.name), "%s has no such key: it has %s", s.what, oneOf(s.names()))
	}
	return near
}

func (s object) names() []string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return names
}

func (s object) description() string {
	names := s.names()
	if len(names) == 1 {
		return "a mapping with the key " + names[0]
	}
	last := len(names) - 1
	return "a mapping with the keys " + strings.Join(names[:last], ", ") + " and " + names[last]
}

func (s object) schema() schema {
	properties := schema{}
	required := []string{}
	for _, f := range s.fields {
		one := schema{}
		maps.Copy(one, f.shape.schema())
		one["description"] = f.description()
		properties[f.name] = one
		if f.required {
			required = append(required, f.name)
		}
	}
	out := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func (f field) description() string {
	if f.initial != "" {
		return fmt.Sprintf("%s Default: %s.", f.about, f.initial)
	}
	return f.about
}
