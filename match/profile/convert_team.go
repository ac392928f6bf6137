package profile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// teams reads the teams and counts their players.
func (c *converter) teams(n *node) {
	if n == nil {
		return
	}
	c.byName = map[string][]int{}
	names := map[string]bool{}
	for _, item := range n.items {
		t, ok := c.team(item)
		if !ok {
			n.bad = true
			continue
		}
		// A team that is to be filled first. Its steps are made when all teams are known: see shrink.
		if size := item.get("players"); size.kind == isObject {
			c.fills = append(c.fills, fill{size, t.Name})
		}
		count := item.good("count").whole(1)
		for i := range count {
			one := t
			if count > 1 {
				one.Name = fmt.Sprintf("%s-%d", t.Name, i+1)
			}
			// A measure takes match for all teams.
			if names[one.Name] || len(one.Name) > 64 || one.Name == "match" {
				c.report.add(item.get("name"),
					"a team %q is not allowed: names are unique, of 1 to 64 characters, and not match", one.Name)
				n.bad = true
			}
			names[one.Name] = true
			c.byName[t.Name] = append(c.byName[t.Name], len(c.p.Teams))
			c.p.Teams = append(c.p.Teams, one)
			c.mostPlayer += one.Max
		}
	}
	c.checkTeams(n)
	c.teamsKnown = !n.bad
}

func (c *converter) checkTeams(n *node) {
	if len(c.p.Teams) > maxTeams {
		c.report.add(n, "%d teams are too many: a match has at most %d, counting those of count", len(c.p.Teams),
			maxTeams)
	}
	if c.mostPlayer > maxPlayers {
		c.report.add(n, "%d players are too many: a match has at most %d", c.mostPlayer, maxPlayers)
	}
	for _, t := range c.p.Teams {
		for _, role := range t.Roles {
			c.roles[role.Name] = true
		}
	}
	if len(c.roles) > maxRoles {
		c.report.add(n, "%d roles are too many: a match has at most %d", len(c.roles), maxRoles)
	}
}

func (c *converter) team(n *node) (t Team, ok bool) {
	size := n.get("players")
	if size.kind == isObject {
		size = size.get("fill")
	}
	least, most, ok := c.rangeOf(size)
	t = Team{Name: n.get("name").text, Min: least, Max: most, Step: n.get("step").whole(1)}
	if split := n.get("allow_split"); split != nil {
		t.AllowSplit = split.flag
	}
	if !ok {
		return t, false
	}
	if least < 1 {
		return t, c.report.add(n.get("players"), "%s is not allowed: a team has at least 1 player",
			n.get("players").textShown())
	}
	if (most-least)%t.Step != 0 {
		return t, c.report.add(n.get("players"),
			"%d to %d in steps of %d is not allowed: the steps from %d do not reach %d", least, most, t.Step, least,
			most)
	}
	t.Roles, ok = c.teamRoles(n.get("roles"), t)
	return t, ok
}

// rangeOf reads a number of players, or a range.
func (c *converter) rangeOf(n *node) (least, most int, ok bool) {
	if n.kind == isNumber {
		return int(n.number), int(n.number), true
	}
	from, to, _ := strings.Cut(n.text, "..")
	least, _ = strconv.Atoi(from)
	most, _ = strconv.Atoi(to)
	if most < 1 || least > most || most > maxPlayers {
		return 0, 0, c.report.add(n, "%s is not allowed: a range goes up, to a number from 1 to %d", n.textShown(),
			maxPlayers)
	}
	return least, most, true
}

func (c *converter) teamRoles(n *node, t Team) (roles []Role, ok bool) {
	if n == nil {
		return nil, true
	}
	needed := 0
	for i, item := range n.items {
		least, most, ok := c.rangeOf(item)
		if !ok {
			return nil, false
		}
		if most > t.Max {
			return nil, c.report.add(item, "%d is not allowed: the team has at most %s", most, playersIn(t.Max))
		}
		needed += least
		roles = append(roles, Role{Name: n.keys[i].name, Min: least, Max: most})
	}
	if needed > t.Min {
		return nil, c.report.add(n, "the roles need %s, and the team may have %d", playersIn(needed), t.Min)
	}
	slices.SortFunc(roles, func(a, b Role) int { return cmp.Compare(a.Name, b.Name) })
	return roles, true
}

// needsRoles reports whether a match needs players in roles of the team.
func (t Team) needsRoles() bool {
	return slices.ContainsFunc(t.Roles, func(r Role) bool { return r.Min > 0 })
}

func playersIn(n int) string {
	if n == 1 {
		return "1 player"
	}
	return fmt.Sprintf("%d players", n)
}

// fewer reads the steps of fewer. Each holds the least sizes of all teams.
func (c *converter) fewer(n *node) {
	switch {
	case n != nil && len(c.fills) > 0:
		c.report.add(n, "fewer is not allowed beside a team with fill: write its steps in one of them")
		return
	case n == nil:
		c.shrink()
		return
	}
	least := map[string]int{}
	for _, t := range c.p.Teams {
		least[t.Name] = t.Min
	}
	last := time.Duration(0)
	for _, item := range n.items {
		after := item.get("after").duration()
		if after <= last {
			c.report.add(item.get("after"), "%s is not allowed: after ascends, and the step before is at %s",
				item.get("after").text, brief(last))
		}
		last = after
		if c.lower(item.get("players"), least) {
			c.p.Fewer = append(c.p.Fewer, Fewer{AfterWait: after, Players: maps.Clone(least)})
		}
	}
}

// fill is the players of a team that wait for each other first.
type fill struct {
	node *node
	team string // by its name in the document
}

// shrink makes steps of the teams that are to be filled first.
func (c *converter) shrink() {
	slices.SortStableFunc(c.fills, func(a, b fill) int {
		return cmp.Compare(a.node.get("for").duration(),
			b.node.get("for").duration())
	})
	least := map[string]int{}
	for _, t := range c.p.Teams {
		least[t.Name] = t.Min
	}
	for _, f := range c.fills {
		after, then := f.node.get("for").duration(), f.node.get("then")
		for _, t := range c.byName[f.team] {
			if !c.lowerTeam(then, c.p.Teams[t], int(then.number), least) {
				return
			}
		}
		// Two teams that wait equally long share a step, since the steps of a profile ascend.
		if last := len(c.p.Fewer) - 1; last >= 0 && c.p.Fewer[last].AfterWait == after {
			c.p.Fewer[last].Players = maps.Clone(least)
			continue
		}
		c.p.Fewer = append(c.p.Fewer, Fewer{AfterWait: after, Players: maps.Clone(least)})
	}
}

// lower sets the least sizes of a step.
func (c *converter) lower(n *node, least map[string]int) (ok bool) {
	if len(c.p.Teams) == 0 {
		return false // reported where the teams are
	}
	if n.kind == isNumber {
		for _, t := range c.p.Teams {
			if !c.lowerTeam(n, t, int(n.number), least) {
				return false
			}
		}
		return true
	}
	for i, item := range n.items {
		indexes, known := c.byName[n.keys[i].name]
		if !known {
			return c.report.addAt(n.keys[i].line, n.keys[i].column, item.path,
				"there is no team of this name: there are %s", oneOf(slices.Sorted(maps.Keys(c.byName))))
		}
		for _, t := range indexes {
			if !c.lowerTeam(item, c.p.Teams[t], int(item.number), least) {
				return false
			}
		}
	}
	return true
}

func (c *converter) lowerTeam(n *node, t Team, players int, least map[string]int) bool {
	if players > least[t.Name] {
		return c.report.add(n, "%d is not allowed: team %s has at least %s before this step; to name teams write {%s: %d}",
			players, t.Name, playersIn(least[t.Name]), t.Name, least[t.Name])
	}
	if (t.Min-players)%t.Step != 0 {
		return c.report.add(n, "%d is not allowed: team %s has %d players, or fewer in steps of %d", players, t.Name,
			t.Min, t.Step)
	}
	needed := 0
	for _, role := range t.Roles {
		needed += role.Min
	}
	if needed > players {
		return c.report.add(n, "%d is not allowed: the roles of team %s need %s", players, t.Name, playersIn(needed))
	}
	least[t.Name] = players
	return true
}

// rangeText is how documents write a range.
func rangeText(least, most int) string { return fmt.Sprintf("%d..%d", least, most) }
