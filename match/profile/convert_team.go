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

// convertTeams reads the teams and counts their players.
func (c *converter) convertTeams(n *node) {
	if n == nil {
		return
	}
	c.byName = map[string][]int{}
	names := map[string]bool{}
	for _, item := range n.itemNodes {
		t, ok := c.convertTeam(item)
		if !ok {
			// Rules are not checked against teams of which some are missing: see teamsKnown.
			n.isBad = true
			continue
		}
		// The team is to be filled first: shrinkTeams makes its steps when all teams are known.
		if size := item.valueOf("players"); size.kind == isObject {
			c.fillFirst = append(c.fillFirst, fill{size, t.Name})
		}
		count := item.goodValue("count").wholeOr(1)
		for i := range count {
			// The copies share their roles, which nothing changes.
			one := t
			if count > 1 {
				one.Name = fmt.Sprintf("%s-%d", t.Name, i+1)
			}
			// match is the word of measures for all teams.
			if names[one.Name] || len(one.Name) > 64 || one.Name == "match" {
				c.report.addProblem(item.valueOf("name"),
					"a team %q is not allowed: names are unique, of 1 to 64 characters, and not match", one.Name)
				n.isBad = true
			}
			names[one.Name] = true
			c.byName[t.Name] = append(c.byName[t.Name], len(c.p.Teams))
			c.p.Teams = append(c.p.Teams, one)
			c.mostPlayers += one.Max
		}
	}
	c.checkTeams(n)
	c.teamsKnown = !n.isBad
}

// checkTeams reports more teams, players or roles than a match may have, and notes the names of the roles.
func (c *converter) checkTeams(n *node) {
	if len(c.p.Teams) > maxTeams {
		c.report.addProblem(n, "%d teams are too many: a match has at most %d, counting those of count", len(c.p.Teams),
			maxTeams)
	}
	if c.mostPlayers > maxPlayers {
		c.report.addProblem(n, "%d players are too many: a match has at most %d", c.mostPlayers, maxPlayers)
	}
	for _, t := range c.p.Teams {
		for _, role := range t.Roles {
			c.roleNames[role.Name] = true
		}
	}
	if len(c.roleNames) > maxRoles {
		c.report.addProblem(n, "%d roles are too many: a match has at most %d", len(c.roleNames), maxRoles)
	}
}

// convertTeam reads one entry of the teams. ok is false if its sizes or roles have a problem.
func (c *converter) convertTeam(n *node) (t Team, ok bool) {
	size := n.valueOf("players")
	if size.kind == isObject {
		// Until its time has passed, a team that is filled first has this size alone: see shrinkTeams.
		size = size.valueOf("fill")
	}
	least, most, ok := c.rangeOf(size)
	t = Team{Name: n.valueOf("name").plainText, Min: least, Max: most, Step: n.valueOf("step").wholeOr(1)}
	if split := n.valueOf("allow_split"); split != nil {
		t.AllowSplit = split.flagValue
	}
	if !ok {
		return t, false
	}
	if least < 1 {
		return t, c.report.addProblem(n.valueOf("players"), "%s is not allowed: a team has at least 1 player",
			n.valueOf("players").textShown())
	}
	// Teams could never be full.
	if (most-least)%t.Step != 0 {
		return t, c.report.addProblem(n.valueOf("players"),
			"%d to %d in steps of %d is not allowed: the steps from %d do not reach %d", least, most, t.Step, least,
			most)
	}
	t.Roles, ok = c.teamRoles(n.valueOf("roles"), t)
	return t, ok
}

// rangeOf reads a number of players, or a range.
func (c *converter) rangeOf(n *node) (least, most int, ok bool) {
	if n.kind == isNumber {
		return int(n.numberValue), int(n.numberValue), true
	}
	from, to, _ := strings.Cut(n.plainText, "..")
	// The shape has checked the digits, of which there are few enough for an int.
	least, _ = strconv.Atoi(from)
	most, _ = strconv.Atoi(to)
	// The pattern of a range also takes 0..0 and 5..3.
	if most < 1 || least > most || most > maxPlayers {
		return 0, 0, c.report.addProblem(n, "%s is not allowed: a range goes up, to a number from 1 to %d",
			n.textShown(), maxPlayers)
	}
	return least, most, true
}

// teamRoles reads the roles of a team. ok is false if one has a problem.
func (c *converter) teamRoles(n *node, t Team) (roles []Role, ok bool) {
	if n == nil {
		return nil, true
	}
	needed := 0
	for i, item := range n.itemNodes {
		least, most, ok := c.rangeOf(item)
		if !ok {
			return nil, false
		}
		if most > t.Max {
			return nil, c.report.addProblem(item, "%d is not allowed: the team has at most %s", most, playersIn(t.Max))
		}
		needed += least
		roles = append(roles, Role{Name: n.objectKeys[i].name, Min: least, Max: most})
	}
	// A team of its least size must be able to fill its roles.
	if needed > t.Min {
		return nil, c.report.addProblem(n, "the roles need %s, and the team may have %d", playersIn(needed), t.Min)
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

// convertFewer reads the steps of fewer. Each holds the least sizes of all teams.
func (c *converter) convertFewer(n *node) {
	if n == nil {
		c.shrinkTeams()
		return
	}
	if len(c.fillFirst) > 0 {
		c.report.addProblem(n, "fewer is not allowed beside a team with fill: write its steps in one of them")
		return
	}
	least := map[string]int{}
	for _, t := range c.p.Teams {
		least[t.Name] = t.Min // lowered by each step for those after it as well
	}
	last := time.Duration(0)
	for _, item := range n.itemNodes {
		after := item.valueOf("after").parsedDuration()
		if after <= last {
			c.report.addProblem(item.valueOf("after"), "%s is not allowed: after ascends, and the step before is at %s",
				item.valueOf("after").plainText, briefDuration(last))
		}
		last = after
		if c.lowerSizes(item.valueOf("players"), least) {
			c.p.Fewer = append(c.p.Fewer, Fewer{AfterWait: after, Players: maps.Clone(least)})
		}
	}
}

// shrinkTeams makes steps of the teams that are to be filled first.
func (c *converter) shrinkTeams() {
	slices.SortStableFunc(c.fillFirst, func(a, b fill) int {
		return cmp.Compare(a.node.valueOf("for").parsedDuration(),
			b.node.valueOf("for").parsedDuration())
	})
	least := map[string]int{}
	for _, t := range c.p.Teams {
		least[t.Name] = t.Min
	}
	for _, f := range c.fillFirst {
		after, then := f.node.valueOf("for").parsedDuration(), f.node.valueOf("then")
		// A team with a count is several teams, all of which shrink.
		for _, t := range c.byName[f.teamName] {
			if !c.lowerTeam(then, c.p.Teams[t], int(then.numberValue), least) {
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

// lowerSizes lowers the least sizes of a step, and reports whether the teams can be so small.
func (c *converter) lowerSizes(n *node, least map[string]int) (ok bool) {
	// convertTeams has reported that there are none.
	if len(c.p.Teams) == 0 {
		return false
	}
	// One number is the size of every team.
	if n.kind == isNumber {
		for _, t := range c.p.Teams {
			if !c.lowerTeam(n, t, int(n.numberValue), least) {
				return false
			}
		}
		return true
	}
	for i, item := range n.itemNodes {
		indexes, known := c.byName[n.objectKeys[i].name]
		if !known {
			return c.report.addAt(n.objectKeys[i].line, n.objectKeys[i].column, item.path,
				"there is no team of this name: there are %s", oneOf(slices.Sorted(maps.Keys(c.byName))))
		}
		for _, t := range indexes {
			if !c.lowerTeam(item, c.p.Teams[t], int(item.numberValue), least) {
				return false
			}
		}
	}
	return true
}

// lowerTeam sets, in least, the size of a team from a step on. It returns false if the team cannot be so small.
func (c *converter) lowerTeam(n *node, t Team, players int, least map[string]int) bool {
	// Steps only lower sizes: a ticket that has waited longer must not need more players.
	if players > least[t.Name] {
		return c.report.addProblem(n, "%d is not allowed: team %s has at least %s before this step; to name teams write {%s: %d}",
			players, t.Name, playersIn(least[t.Name]), t.Name, least[t.Name])
	}
	// From the new least size on, the steps must still lead to the team's other sizes.
	if (t.Min-players)%t.Step != 0 {
		return c.report.addProblem(n, "%d is not allowed: team %s has %d players, or fewer in steps of %d", players,
			t.Name, t.Min, t.Step)
	}
	needed := 0
	for _, role := range t.Roles {
		needed += role.Min
	}
	if needed > players {
		return c.report.addProblem(n, "%d is not allowed: the roles of team %s need %s", players, t.Name,
			playersIn(needed))
	}
	least[t.Name] = players
	return true
}

// rangeText returns a range as documents write it.
func rangeText(least, most int) string { return fmt.Sprintf("%d..%d", least, most) }

// convertBots reads the waiting time from which bots fill teams, which is after all steps of fewer.
func (c *converter) convertBots(n *node) {
	if n == nil {
		return
	}
	// A node of its own, with the text without its prefix, and the place of n in problems.
	wait := *n
	wait.plainText = strings.TrimPrefix(n.plainText, botsPrefix)
	if !waiting.checkNode(c.report, &wait) {
		return
	}
	c.p.BotsAfter = wait.parsedDuration()
	if last := len(c.p.Fewer) - 1; last >= 0 && c.p.Fewer[last].AfterWait >= c.p.BotsAfter {
		c.report.addProblem(n, "%s is not allowed: bots fill teams after the last step of fewer, which is at %s",
			n.textShown(), briefDuration(c.p.Fewer[last].AfterWait))
	}
}
