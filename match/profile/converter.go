package profile

import (
	"strings"
	"time"

	"github.com/lattice-director/director/match"
)

// converter makes a Profile of a document, and reports what no single value shows: names that do not exist, sizes that
// cannot be reached, steps that do not ascend. It leaves out values that the check by shapes has reported.
type converter struct {
	report        *report
	p             *Profile
	attributeUses map[string]use      // of attributes that are not declared, by name
	firstUses     map[string]firstUse // of attributes, declared or not, by name
	saysFrom      map[string]bool     // by name of a declared attribute: the document says from whom it is
	teamsKnown    bool                // the teams have no problem, so that rules can be checked against them
	byName        map[string][]int    // indexes in p.Teams, by the name in the document
	roleNames     map[string]bool     // of all teams
	mostPlayers   int                 // of a match
	fillFirst     []fill              // teams that are to be filled first
	ruleIDs       map[string]bool     // of the rules that were read
	ruleCount     int                 // those within others and preferences included
	ruleNodes     map[string]*node    // of rules, by their ids
}

// goodValue returns the value of a key, or nil if it is absent or has a problem.
func (n *node) goodValue(name string) *node {
	if v := n.valueOf(name); v.isValid() {
		return v
	}
	return nil
}

// textOrEmpty returns the text of a value, or "" for nil.
func (n *node) textOrEmpty() string {
	if n == nil {
		return ""
	}
	return n.plainText
}

// wholeOr returns the number of a value, or the initial one for nil.
func (n *node) wholeOr(initial int) int {
	if n == nil {
		return initial
	}
	return int(n.numberValue)
}

// durationOr returns the duration of a value, or the initial one for nil.
func (n *node) durationOr(initial time.Duration) time.Duration {
	if n == nil {
		return initial
	}
	return n.parsedDuration()
}

// textList returns the texts of a list; none for nil.
func (n *node) textList() []string {
	if n == nil {
		return nil
	}
	var all []string
	for _, item := range n.itemNodes {
		all = append(all, item.plainText)
	}
	return all
}

// firstUse is where a document first uses an attribute.
type firstUse struct {
	node *node  // names the attribute
	part string // of the document: near, pool
}

// use is how the parts of a profile use an attribute.
type use struct {
	allowedKinds kindSet // that suit all of them so far
	lastUser     string  // the part that used it last, such as near
	lastLine     int     // the line of that part
	firstNode    *node   // the node that used it first
}

// fill is the value of a team's players that says that they wait for each other first.
type fill struct {
	node     *node
	teamName string // in the document
}

// rulePlace is where a rule stands.
type rulePlace struct {
	ruleID     string // the id of the rule around it; "" at the top
	defaultAge Age    // its age where it names none
	belowNot   bool   // it is somewhere below not
	// isPreferred says that the rule is a preference, or within one.
	isPreferred bool
}

// recordUse notes where an attribute is used first: the warning that only clients vouch for it names this place.
func (c *converter) recordUse(n *node, by string) {
	if _, known := c.firstUses[n.plainText]; !known {
		c.firstUses[n.plainText] = firstUse{n, by}
	}
}

// useAttribute records that a part of the document, such as near, needs the attribute that n names to have one of some
// types, and reports it if the attribute's declaration, or another use, forbids that.
func (c *converter) useAttribute(n *node, kinds kindSet, by string) {
	// The key is absent, or has a problem that was reported.
	if n == nil {
		return
	}
	c.recordUse(n, by)
	// A declaration decides, and other uses need not agree with each other but with it.
	if declared, ok := c.p.Attributes[n.plainText]; ok {
		if kinds&(1<<declared.Kind) == 0 {
			c.report.addProblem(n, "%s needs the type %s, and attributes.%s says %s", by, kinds,
				shortenText(n.plainText), types.wordFor(declared.Kind))
		}
		return
	}
	before, used := c.attributeUses[n.plainText]
	if !used {
		// The first use allows what it needs, and later ones what is left.
		before.allowedKinds, before.firstNode = anyKind, n
	}
	// No type suits both parts: every ticket would fail one of them.
	if before.allowedKinds&kinds == 0 {
		c.report.addProblem(n, "%s needs the type %s, and %s in line %d needs %s: an attribute has one type", by, kinds,
			before.lastUser, before.lastLine, before.allowedKinds)
		return
	}
	c.attributeUses[n.plainText] = use{allowedKinds: before.allowedKinds & kinds, lastUser: by, lastLine: n.line,
		firstNode: before.firstNode}
}

// kindSet is a set of types of attributes.
type kindSet uint8

const (
	numbers kindSet = 1 << match.Number
	texts   kindSet = 1 << match.Text
	lists   kindSet = 1 << match.List
	anyKind         = numbers | texts | lists
)

// String names the types: "number or string".
func (s kindSet) String() string {
	var all []string
	for _, t := range types {
		if s&(1<<t.value) != 0 {
			all = append(all, t.word)
		}
	}
	return strings.Join(all, " or ")
}
