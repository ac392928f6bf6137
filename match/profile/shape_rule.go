package profile

import (
	"fmt"
	"slices"
)

// maxDepthOfRules is how deep or, and, not nest.
const maxDepthOfRules = 3

// ruleList is a list of rules.
type ruleList struct {
	maxRules int
}

func (s ruleList) list() list { return list{element: innerRule{}, min: 0, max: s.maxRules} }

func (s ruleList) takes(n *node) bool { return n.kind == isList }

func (s ruleList) check(r *report, n *node) bool { return s.list().check(r, n) }

func (s ruleList) description() string { return fmt.Sprintf("a list of at most %d rules", s.maxRules) }

func (s ruleList) schema() schema { return s.list().schema() }

// innerRule is a rule of any kind.
type innerRule struct{}

func (innerRule) takes(n *node) bool { return n.kind == isObject }

func (innerRule) description() string { return "a mapping with a kind of rule: " + oneOf(kindNames()) }

func (innerRule) schema() schema { return schema{"$ref": "#/$defs/rule"} }

func (s innerRule) check(r *report, n *node) bool {
	if n.kind != isObject {
		return r.add(n, "%s is not allowed: it must be %s", n.textShown(), s.description())
	}
	kind, ok := kindOf(r, n)
	if !ok {
		n.bad = true
		return false
	}
	if compound := kind.kind == Or || kind.kind == And || kind.kind == Not; compound {
		r.ruleDepth++
		defer func() { r.ruleDepth-- }()
		if r.ruleDepth > maxDepthOfRules {
			n.bad = true
			return r.add(n, "or, and, not are nested too deeply: %d levels are allowed", maxDepthOfRules)
		}
	}
	return kind.object().check(r, n)
}

// kindOf returns the kind of a rule, which exactly one of its keys says.
func kindOf(r *report, n *node) (found ruleShape, ok bool) {
	for _, s := range ruleShapes {
		if !n.has(s.name) {
			continue
		}
		if ok {
			return found, r.add(n, "this rule is both %s and %s: make two rules of it", found.name, s.name)
		}
		found, ok = s, true
	}
	if ok {
		return found, true
	}
	for _, k := range n.keys {
		if near := nearestTo(k.name, kindNames()); near != "" {
			return found, r.addAt(k.line, k.column, join(n.path, k.name),
				"there is no rule of this kind: did you mean %s?", near)
		}
	}
	return found, r.add(n, "a rule needs a kind: one of the keys %s", oneOf(kindNames()))
}

func kindNames() []string {
	names := make([]string, len(ruleShapes))
	for i, s := range ruleShapes {
		names[i] = s.name
	}
	return names
}

// shapeOf returns the shape of a kind of rule.
func shapeOf(kind RuleKind) ruleShape {
	return ruleShapes[slices.IndexFunc(ruleShapes, func(s ruleShape) bool { return s.kind == kind })]
}

// object returns the shape of a rule of this kind, with its kind's key first.
func (s ruleShape) object() object {
	fields := []field{{name: s.name, shape: s.value, required: true, about: s.about}}
	return object{what: fmt.Sprintf("a rule of the kind %q", s.name),
		fields: append(append(fields, s.own...), commonFields(s)...)}
}
