package profile

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// botsPrefix is what a document writes before the waiting time from which bots fill teams.
const botsPrefix = "bots after "

var fillBots = text{
	regexp.MustCompile(`^` + botsPrefix + strings.TrimPrefix(durationPattern, "^")),
	"bots after a waiting time, such as bots after 45s",
}

// convertBots reads the waiting time from which bots fill teams, which is after all steps of fewer.
func (c *converter) convertBots(n *node) {
	if n == nil {
		return
	}
	// Without the prefix, and at the same place of the document, which a problem names.
	wait := *n
	wait.plainText = strings.TrimPrefix(n.plainText, botsPrefix)
	if !waiting.checkNode(c.report, &wait) {
		return
	}
	c.p.BotsAfter = wait.parsedDuration()
	if last := len(c.p.Fewer) - 1; last >= 0 && c.p.Fewer[last].AfterWait >= c.p.BotsAfter {
		c.report.addProblem(n, "%s is not allowed: bots fill teams after the last step of fewer, which is at %s",
			n.textShown(),
			briefDuration(c.p.Fewer[last].AfterWait))
	}
}

// LeastSteps returns the steps from which teams may be smaller: those of Fewer, then that from which bots fill teams.
func (p *Profile) LeastSteps() []Fewer {
	if p.BotsAfter == 0 {
		return p.Fewer
	}
	least := make(map[string]int, len(p.Teams))
	for _, t := range p.Teams {
		least[t.Name] = t.leastBesideBots()
	}
	return append(slices.Clip(p.Fewer), Fewer{AfterWait: p.BotsAfter, Players: least})
}

// leastBesideBots is how many players a team has at least where bots fill it: none, or those that its roles need, since
// bots take no role. A team with a step keeps its sizes.
func (t Team) leastBesideBots() int {
	needed := 0
	for _, role := range t.Roles {
		needed += role.Min
	}
	least := t.Min % max(t.Step, 1)
	for least < needed {
		least += max(t.Step, 1)
	}
	return least
}

// FillTo returns the number of players to which bots fill each team of a match with teams of these sizes, by name. Nil:
// bots fill none, since without them the match was large enough.
func (p *Profile) FillTo(players map[string]int) map[string]int {
	if p.BotsAfter == 0 || !p.isShort(players) {
		return nil
	}
	to := make(map[string]int, len(p.Teams))
	for _, t := range p.Teams {
		to[t.Name] = t.Min
	}
	return to
}

// isShort reports whether a team has fewer players than every step of Fewer asks for.
func (p *Profile) isShort(players map[string]int) bool {
	for _, t := range p.Teams {
		least := t.Min
		for _, f := range p.Fewer {
			if n, named := f.Players[t.Name]; named {
				least = min(least, n)
			}
		}
		if players[t.Name] < least {
			return true
		}
	}
	return false
}

// botsText is the fill of a document.
func botsText(after time.Duration) string { return botsPrefix + briefDuration(after) }
