package profile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lattice-director/director/match"
)

// undeclaredUses returns a warning for each attribute that is used and not declared.
func (c *converter) undeclaredUses() (all []Problem) {
	for name, u := range c.attributeUses {
		proposed, _, _ := strings.Cut(u.allowedKinds.String(), " ") // the first of the types that suit all uses
		all = append(all, Problem{Line: u.firstNode.line, Column: u.firstNode.column, Path: u.firstNode.path,
			Text: fmt.Sprintf(
				"the attribute %s is not declared, so that a value of another type counts as none: add attributes: {%s: {type: %s}}",
				shortenText(name), shortenText(name), proposed)})
	}
	sortProblems(all)
	return all
}

// useValue returns a value that stands in for an attribute, and reports it if it has another type.
func (c *converter) useValue(n *node, attribute string, kinds kindSet) *match.Value {
	v := attributeValue(n)
	if declared, ok := c.p.Attributes[attribute]; ok {
		// The declaration decides, also for values that stand in.
		kinds = 1 << declared.Kind
	} else if before, used := c.attributeUses[attribute]; used {
		kinds &= before.allowedKinds
	}
	// The rule could not compare the value.
	if kinds&(1<<v.Kind) == 0 {
		c.report.addProblem(n, "%s is not allowed: the attribute %s has the type %s", n.countText(),
			shortenText(attribute), kinds)
	}
	return v
}

// attributeValue returns the value of an attribute.
func attributeValue(n *node) *match.Value {
	switch n.kind {
	case isNumber:
		return &match.Value{Kind: match.Number, Number: n.numberValue}
	case isList:
		return &match.Value{Kind: match.List, List: n.textList()}
	default: // isText: the shapes of values let no others through
		return &match.Value{Kind: match.Text, Text: n.plainText}
	}
}

// convertDeclared reads the attributes.
func (c *converter) convertDeclared(n *node) map[string]Attribute {
	// An empty mapping is the same as no key at all.
	if n == nil || len(n.itemNodes) == 0 {
		return nil
	}
	all := make(map[string]Attribute, len(n.itemNodes))
	for i, item := range n.itemNodes {
		a := Attribute{Kind: types.valueOf(item.goodValue("type"), match.Text)}
		if initial := item.goodValue("default"); initial != nil {
			a.Default = attributeValue(initial)
			// A default of another type would count as no value: every ticket without its own would be refused.
			if a.Default.Kind != a.Kind {
				c.report.addProblem(initial, "%s is not allowed: the type of the attribute is %s", initial.countText(),
					types.wordFor(a.Kind))
			}
		}
		c.convertSource(&a, n.objectKeys[i].name, item)
		all[n.objectKeys[i].name] = a
	}
	return all
}

// checkReserved reports attributes of the director's own that have a type with which no player has what the profile
// needs.
func (c *converter) checkReserved(declared *node) {
	needed := map[string]bool{AttributeModes: len(c.p.Modes) > 0,
		AttributeRole: slices.ContainsFunc(c.p.Teams, Team.needsRoles)}
	for name, a := range c.p.Attributes {
		if needed[name] && a.Kind == match.Number && !c.report.isStored {
			c.report.addProblem(declared.valueOf(name),
				"the type number is not allowed: %s are texts, or lists of them",
				map[string]string{AttributeModes: "modes", AttributeRole: "roles"}[name])
		}
	}
}

// messageAttributes returns the attributes that game servers read without tell: those of the rules. Lists of players to
// avoid are private.
func (c *converter) messageAttributes() []string {
	var all []string
	var add func(rules []Rule)
	add = func(rules []Rule) {
		for i := range rules {
			if r := &rules[i]; r.Kind != Avoid {
				all = append(all, r.Measured()...)
			}
			add(rules[i].Rules)
		}
	}
	add(c.p.Rules)
	slices.Sort(all)
	all = slices.Compact(all)
	// At most as many as the key tell may have, since Parse has to take the canonical form.
	return all[:min(len(all), maxAttributes)]
}
