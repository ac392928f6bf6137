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
	elementShape       shape
	minItems, maxItems int
	isDistinct         bool
}

func (s list) takesNode(n *node) bool { return n.kind == isList }

func (s list) checkNode(r *report, n *node) bool {
	if n.kind != isList || len(n.itemNodes) < s.minItems || len(n.itemNodes) > s.maxItems {
		return r.addProblem(n, "%s is not allowed: it must be %s", n.countText(), s.describeAllowed())
	}
	for i, item := range n.itemNodes {
		item.path = fmt.Sprintf("%s[%d]", n.path, i)
		// The conversion leaves the item out, and the list where all of its items are needed.
		if !s.elementShape.checkNode(r, item) {
			n.isBad, item.isBad = true, true
		}
	}
	if s.isDistinct {
		s.checkDistinct(r, n)
	}
	return !n.isBad
}

// checkDistinct reports texts that a list has twice.
func (s list) checkDistinct(r *report, n *node) {
	seen := map[string]bool{}
	for _, item := range n.itemNodes {
		// The list is bad as a whole: which of the two items was meant is not known.
		if item.kind == isText && seen[item.plainText] {
			n.isBad = true
			r.addProblem(item, "%s is there twice", item.textShown())
		}
		seen[item.plainText] = true
	}
}

// countText is textShown with the length of lists and mappings.
func (n *node) countText() string {
	switch n.kind {
	case isList:
		return fmt.Sprintf("a list of %d", len(n.itemNodes))
	case isObject:
		return fmt.Sprintf("a mapping of %d keys", len(n.itemNodes))
	default:
		return n.textShown()
	}
}

func (s list) describeAllowed() string {
	return fmt.Sprintf("a list of %d to %d", s.minItems, s.maxItems)
}

func (s list) jsonSchema() schema {
	out := schema{"type": "array", "items": s.elementShape.jsonSchema(), "maxItems": s.maxItems}
	if s.minItems > 0 {
		out["minItems"] = s.minItems
	}
	if s.isDistinct {
		out["uniqueItems"] = true
	}
	return out
}

// dict is a mapping with keys that the author chooses.
type dict struct {
	keyShape         text
	elementShape     shape
	minKeys, maxKeys int
}

func (s dict) takesNode(n *node) bool { return n.kind == isObject }

func (s dict) checkNode(r *report, n *node) bool {
	if n.kind != isObject || len(n.itemNodes) < s.minKeys || len(n.itemNodes) > s.maxKeys {
		return r.addProblem(n, "%s is not allowed: it must be %s", n.countText(), s.describeAllowed())
	}
	for i, item := range n.itemNodes {
		k := n.objectKeys[i]
		item.path = joinPath(n.path, k.name)
		// The value is checked under a bad key as well, to report both.
		ok := s.elementShape.checkNode(r, item)
		if !s.keyShape.allowedPattern.MatchString(k.name) {
			ok = r.addAt(k.line, k.column, n.path, "the key %s is not allowed: it must be %s",
				strconv.Quote(shortenText(k.name)), s.keyShape.what)
		}
		if !ok {
			n.isBad, item.isBad = true, true
		}
	}
	return !n.isBad
}

func (s dict) describeAllowed() string {
	return fmt.Sprintf("a mapping of %d to %d keys", s.minKeys, s.maxKeys)
}

func (s dict) jsonSchema() schema {
	out := schema{
		"type": "object", "additionalProperties": s.elementShape.jsonSchema(), "maxProperties": s.maxKeys,
		"propertyNames": schema{"pattern": s.keyShape.allowedPattern.String()},
	}
	if s.minKeys > 0 {
		out["minProperties"] = s.minKeys
	}
	return out
}

// joinPath appends a key to a path. Keys are shortened: paths are shown in problems, and a key may be as long as the
// document.
func joinPath(path, name string) string {
	if path == "" {
		return shortenText(name)
	}
	return path + "." + shortenText(name)
}

// object is a mapping with known keys.
type object struct {
	whatText  string // such as "a team"
	keyFields []field
}

// field is a key of an object.
type field struct {
	keyName     string
	valueShape  shape
	isRequired  bool
	initialText string // the default, for people; "" if the text says it or there is none
	aboutText   string
}

func (s object) takesNode(n *node) bool { return n.kind == isObject }

func (s object) checkNode(r *report, n *node) bool {
	if n.kind != isObject {
		return r.addProblem(n, "%s is not allowed: it must be %s", n.textShown(), s.describeAllowed())
	}
	ok := true
	meant := map[string]bool{}
	for i, item := range n.itemNodes {
		item.path = joinPath(n.path, n.objectKeys[i].name)
		f := slices.IndexFunc(s.keyFields, func(f field) bool { return f.keyName == n.objectKeys[i].name })
		if f < 0 {
			meant[s.reportUnknown(r, n, n.objectKeys[i])] = true
			ok = false
			continue
		}
		if !s.keyFields[f].valueShape.checkNode(r, item) {
			item.isBad, ok = true, false
		}
	}
	for _, f := range s.keyFields {
		// A mistyped key is reported once, and not as a missing one as well.
		if f.isRequired && !n.hasKey(f.keyName) && !meant[f.keyName] {
			ok = r.addProblem(n, "%s needs the key %s: %s", s.whatText, f.keyName, f.valueShape.describeAllowed())
		}
	}
	n.isBad = !ok
	return ok
}

// reportUnknown reports a key that the object does not have. It returns the key that was probably meant, or "".
func (s object) reportUnknown(r *report, n *node, k key) string {
	near := nearestTo(k.name, s.keyNames())
	if near != "" {
		r.addAt(k.line, k.column, joinPath(n.path, k.name), "%s has no such key: did you mean %s?", s.whatText, near)
	} else {
		r.addAt(k.line, k.column, joinPath(n.path, k.name), "%s has no such key: it has %s", s.whatText,
			oneOf(s.keyNames()))
	}
	return near
}

func (s object) keyNames() []string {
	names := make([]string, len(s.keyFields))
	for i, f := range s.keyFields {
		names[i] = f.keyName
	}
	return names
}

func (s object) describeAllowed() string {
	names := s.keyNames()
	if len(names) == 1 {
		return "a mapping with the key " + names[0]
	}
	last := len(names) - 1
	return "a mapping with the keys " + strings.Join(names[:last], ", ") + " and " + names[last]
}

func (s object) jsonSchema() schema {
	properties := schema{}
	required := []string{}
	for _, f := range s.keyFields {
		one := schema{}
		// A copy, whose description is that of the key in place of that of the shape.
		maps.Copy(one, f.valueShape.jsonSchema())
		one["description"] = f.describeAllowed()
		properties[f.keyName] = one
		if f.isRequired {
			required = append(required, f.keyName)
		}
	}
	out := schema{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// describeAllowed returns the description of a key, with its default.
func (f field) describeAllowed() string {
	if f.initialText != "" {
		return fmt.Sprintf("%s Default: %s.", f.aboutText, f.initialText)
	}
	return f.aboutText
}

// value is what an attribute of a player may be.
var value = either{number{lowest, highest, false}, labelText(256), list{elementShape: labelText(256), maxItems: 64}}
