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

func (s ruleList) listShape() list {
	return list{elementShape: innerRule{}, minItems: 0, maxItems: s.maxRules}
}

func (s ruleList) takesNode(n *node) bool { return n.kind == isList }

func (s ruleList) checkNode(r *report, n *node) bool { return s.listShape().checkNode(r, n) }

func (s ruleList) describeAllowed() string {
	return fmt.Sprintf("a list of at most %d rules", s.maxRules)
}

func (s ruleList) jsonSchema() schema { return s.listShape().jsonSchema() }

// innerRule is a rule of any kind.
type innerRule struct{}

func (innerRule) takesNode(n *node) bool { return n.kind == isObject }

func (innerRule) describeAllowed() string {
	return "a mapping with a kind of rule: " + oneOf(kindNames())
}

// jsonSchema returns a reference, since rules are within rules, without end.
func (innerRule) jsonSchema() schema { return schema{"$ref": "#/$defs/rule"} }

func (s innerRule) checkNode(r *report, n *node) bool {
	if n.kind != isObject {
		return r.addProblem(n, "%s is not allowed: it must be %s", n.textShown(), s.describeAllowed())
	}
	kind, ok := kindOf(r, n)
	if !ok {
		n.isBad = true
		return false
	}
	if kind.kind == Or || kind.kind == And || kind.kind == Not {
		// The check goes down by recursion, so the report counts how deep it is.
		r.ruleDepth++
		defer func() { r.ruleDepth-- }()
		if r.ruleDepth > maxDepthOfRules {
			n.isBad = true
			return r.addProblem(n, "or, and, not are nested too deeply: %d levels are allowed", maxDepthOfRules)
		}
	}
	return kind.object().checkNode(r, n)
}

// kindOf returns the kind of a rule, which exactly one of its keys says.
func kindOf(r *report, n *node) (found ruleShape, ok bool) {
	for _, s := range ruleShapes {
		if !n.hasKey(s.kindKey) {
			continue
		}
		if ok {
			return found, r.addProblem(n, "this rule is both %s and %s: make two rules of it", found.kindKey, s.kindKey)
		}
		found, ok = s, true
	}
	if ok {
		return found, true
	}
	for _, k := range n.objectKeys {
		// The likely kind instead of all kinds: an author who writes "neer" knows them.
		if near := nearestTo(k.name, kindNames()); near != "" {
			return found, r.addAt(k.line, k.column, joinPath(n.path, k.name),
				"there is no rule of this kind: did you mean %s?", near)
		}
	}
	return found, r.addProblem(n, "a rule needs a kind: one of the keys %s", oneOf(kindNames()))
}

func kindNames() []string {
	names := make([]string, len(ruleShapes))
	for i, s := range ruleShapes {
		names[i] = s.kindKey
	}
	return names
}

// shapeOf returns the shape of a kind of rule.
func shapeOf(kind RuleKind) ruleShape {
	return ruleShapes[slices.IndexFunc(ruleShapes, func(s ruleShape) bool { return s.kind == kind })]
}

// object returns the shape of a rule of this kind, with its kind's key first.
func (s ruleShape) object() object {
	fields := []field{{keyName: s.kindKey, valueShape: s.value, isRequired: true, aboutText: s.aboutText}}
	return object{whatText: fmt.Sprintf("a rule of the kind %q", s.kindKey),
		keyFields: append(append(fields, s.ownFields...), commonFields(s)...)}
}
