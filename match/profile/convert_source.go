package profile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lattice-director/director/match"
)

// convertSource reads who must vouch for an attribute.
func (c *converter) convertSource(a *Attribute, name string, n *node) {
	from, claim := n.goodValue("from"), n.goodValue("claim")
	// An author who writes from: client has decided that players may say what they like, and gets no warning.
	a.From, c.saysFrom[name] = sources.valueOf(from, match.FromClient), from != nil
	// Only a claim has a place in a token.
	if a.From != match.FromClaim {
		if claim != nil {
			c.report.addProblem(claim, "claim has no meaning here: it names the claim of from: claim, and from is %s",
				a.From)
		}
		return
	}
	switch {
	case claim == nil:
		a.Claim = []string{name}
	// Dots lead into objects; a name that has dots itself, as URLs of identity providers do, needs a list.
	case claim.kind == isText:
		a.Claim = strings.Split(claim.plainText, ".")
	default:
		a.Claim = claim.textList()
	}
}

// usePool records the attributes that the pool filters by: texts, numbers, and lists as tags "name:value".
func (c *converter) usePool(n *node) {
	if n == nil {
		return
	}
	for _, filters := range []*node{n.goodValue("strings"), n.goodValue("doubles")} {
		if filters == nil {
			continue
		}
		for i, k := range filters.objectKeys {
			c.recordUse(&node{line: k.line, column: k.column, path: filters.itemNodes[i].path, plainText: k.name},
				"pool")
		}
	}
	if tags := n.goodValue("tags"); tags != nil {
		for _, tag := range tags.itemNodes {
			if name, _, isList := strings.Cut(tag.plainText, ":"); isList {
				c.recordUse(&node{line: tag.line, column: tag.column, path: tag.path, plainText: name}, "pool")
			}
		}
	}
}

// unvouchedNames returns the attributes in use of which the document does not say from whom they are.
func (c *converter) unvouchedNames() (names []string) {
	for name := range maps.Keys(c.firstUses) {
		if !c.saysFrom[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// clientsWord returns the warning that anybody may write what they like into an attribute.
func (c *converter) clientsWord(name string) Problem {
	use, short := c.firstUses[name], shortenText(name)
	return Problem{Line: use.node.line, Column: use.node.column, Path: use.node.path, Text: fmt.Sprintf(
		"%s takes the attribute %s, which only the player's client vouches for: add attributes: {%s: {from: claim}} or {from: "+
			"backend}, or {from: client} if players may say what they like", use.part, short, short)}
}
