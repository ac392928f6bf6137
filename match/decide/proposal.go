package decide

import (
	"slices"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// Version is a numbered version of a profile. The profile must decide by teams and rules, not by a match function, for
// which there is [Completer].
type Version struct {
	Profile *profile.Profile
	Number  int
}

// Region is a game region that may host matches.
type Region struct {
	Name string
	Room bool // it has a host for another match now
}

// Proposal is a match that the rules allow, or newcomers for an open one.
type Proposal struct {
	Anchor  string   // the ticket whose search found the match
	Tickets []string // oldest first
	Teams   []Team   // in the profile's order; of a join with the newcomers only
	// Modes are the profile's modes that all tickets allow, in the profile's order. Empty if the profile has none.
	Modes []string
	// Regions are the game regions where every rule holds, best first: regions with room precede all others.
	Regions []RegionChoice
	// Chosen are the values that `common` rules selected for the game server, by attribute.
	Chosen map[string]string
	// Rules say what held, in the profile's order.
	Rules []RuleValue
	// Preferences say which preferences hold, in the profile's order.
	Preferences []PreferenceValue
	// Traded says what the match costs its players, in the order of the profile's trades.
	Traded []Traded
	// Session is the open match's; empty for a new match.
	Session string
	// PassedOver are up to 8 candidates that the anchor preferred to one it got.
	PassedOver []PassedOver
}

// Team is a team of a proposal.
type Team struct {
	Name  string
	Seats []Seat // by ticket, oldest first, then by player
}

// Seat is a player's place in a team.
type Seat struct {
	Ticket, Sub string
	Role        string // empty: none
}

// RegionChoice is a region that a match may be played in.
type RegionChoice struct {
	Name string
	Room bool
	// Measured says that every player measured the latency to it. Worst and Mean are in milliseconds, of the players,
	// and zero if not Measured.
	Measured bool
	Worst    int
	Mean     float64
	Weight   float64 // of the preferences that hold there
}

// RuleValue says how a rule held.
type RuleValue struct {
	ID    string
	Value float64 // what was measured: a difference, a number of values, milliseconds
	Limit float64 // what it was compared with
	Text  string  // "ended" after a step that ends the rule; of a text rule, the text
}

// PreferenceValue says whether a preference holds, in the best region of the match.
type PreferenceValue struct {
	ID     string
	Weight float64
	Holds  bool
}

// PassedOver names a ticket that was nearer than one that was taken.
type PassedOver struct {
	Ticket  string
	Because string // the id of the rule that excluded it, or one of "size", "roles", "mode", "player" and "combination"
}

// Lack is a reason why a ticket is no candidate of a profile.
type Lack struct {
	Why       LackReason
	Attribute string // of LacksAttribute and LacksSource
	Rule      string // of LacksAttribute and LacksLatency: the id of the rule that needs it
	Sub       string // of LacksAttribute and LacksSource: the first such player
}

// LackReason is a kind of [Lack].
type LackReason string

// The reasons why a ticket is no candidate.
const (
	LacksPlayer    LackReason = "player"     // it names no player
	LacksPool      LackReason = "pool"       // the profile's filters do not hold it, or it asks for other profiles
	LacksAttribute LackReason = "attribute"  // a player has no value that the rule can compare
	LacksSource    LackReason = "source"     // a value is of a weaker source than the profile asks for
	LacksLatency   LackReason = "latency"    // it measured no region
	LacksRoom      LackReason = "party_size" // its party is larger than any team
	LacksMode      LackReason = "mode"       // it allows none of the profile's modes

	LacksRule   LackReason = "own_party" // only of [NeverMatches]: its own players break a rule at every step
	LacksPlaces LackReason = "roles"     // only of [NeverMatches]: no team has places for its players with their roles
)

// maxPassedOver is how many candidates a proposal names that were nearer than one it has.
const maxPassedOver = 8

// describeProposal describes the match in s.finalLine.
func (s *search) describeProposal(regions *regionSet) Proposal {
	p := Proposal{
		Anchor:  s.seed.ticket.ID,
		Teams:   s.seatedTeams(),
		Modes:   s.plan.modeNames(s.finalLine.commonModes()),
		Regions: regions.rankRegions(s.holdingRegions(), &s.finalLine, s.plan),
		Chosen:  s.chosenValues(),
		Rules:   s.ruleValues(),
		Traded:  s.tradedValues(regions),

		PassedOver: s.passedOver(),
	}
	p.Preferences = s.preferenceValues(p.Regions, regions)
	for _, c := range s.newcomerTickets() {
		p.Tickets = append(p.Tickets, c.ticket.ID)
	}
	return p
}

// newcomerTickets returns the tickets that wait, oldest first.
func (s *search) newcomerTickets() []*candidate {
	all := slices.DeleteFunc(slices.Clone(s.finalLine.picks), func(c *candidate) bool { return c.isSeated })
	slices.SortFunc(all, byAge)
	return all
}

func (s *search) seatedTeams() []Team {
	teams := make([]Team, len(s.plan.teams))
	for i := range teams {
		teams[i].Name = s.plan.teams[i].spec.Name
	}
	for _, c := range s.newcomerTickets() {
		from, _ := s.finalLine.playersOf(slices.Index(s.finalLine.picks, c))
		for i := range c.ticket.Players {
			seat := Seat{Ticket: c.ticket.ID, Sub: c.ticket.Players[i].Sub}
			if role := s.finalLine.roleByPlayer[from+i]; role >= 0 {
				seat.Role = s.plan.roleNames[role]
			}
			team := &teams[s.finalLine.teamByPlayer[from+i]]
			team.Seats = append(team.Seats, seat)
		}
	}
	return teams
}

// modeNames returns the profile's modes of a set.
func (pl *plan) modeNames(allowed uint8) []string {
	var modes []string
	for i, mode := range pl.profile.Modes {
		if allowed&(1<<i) != 0 {
			modes = append(modes, mode)
		}
	}
	return modes
}

// holdingRegions returns where every rule holds.
func (s *search) holdingRegions() uint64 {
	set := s.finalLine.allowedRegions
	for i := range s.placing.verdicts {
		set &= s.placing.verdicts[i].holdingRegions
	}
	return set
}

func (s *search) chosenValues() map[string]string {
	var chosen map[string]string
	for _, r := range s.plan.rules {
		k, ok := r.condition.(*common)
		if !ok {
			continue
		}
		if value, ok := k.chosenValue(&s.finalLine); ok {
			if chosen == nil {
				chosen = map[string]string{}
			}
			chosen[k.attribute] = value
		}
	}
	return chosen
}

func (s *search) ruleValues() []RuleValue {
	values := make([]RuleValue, len(s.plan.rules))
	for i, r := range s.plan.rules {
		v := s.placing.verdicts[i]
		values[i] = RuleValue{ID: r.id, Value: v.value, Limit: v.limit, Text: s.ruleText(r)}
		if v.hasEnded {
			values[i] = RuleValue{ID: r.id, Text: "ended"}
		}
	}
	return values
}

func (s *search) ruleText(r *rule) string {
	switch k := r.condition.(type) {
	case *common:
		chosen, _ := k.chosenValue(&s.finalLine)
		return chosen
	case *same:
		if atoms := s.finalLine.atomsIn(k.scope); !k.perTeam && len(atoms) > 0 {
			return atoms[0].Value().text
		}
	}
	return ""
}

// passedOver returns the choices that the seed preferred to the last one that it has, and why it does not have them.
func (s *search) passedOver() []PassedOver {
	passed, choices := slices.Clone(s.choices.passedOver), s.choices.preferredList()
	last := len(choices) - 1
	for last >= 0 && !slices.Contains(s.finalLine.picks, choices[last]) {
		last--
	}
	for i := 0; i < last && len(passed) < maxPassedOver; i++ {
		if c := choices[i]; !slices.Contains(s.finalLine.picks, c) {
			passed = append(passed, PassedOver{c.ticket.ID, s.exclusionOf(c)})
		}
	}
	return passed
}

// exclusionOf returns what excludes c from the match: a rule that it breaks with the others, or that the match was full.
func (s *search) exclusionOf(c *candidate) string {
	for _, r := range s.plan.rules {
		if !r.mayAdmit(&s.finalLine, c) {
			return r.id
		}
	}
	if len(s.plan.roleNames) > 0 {
		return becauseRoles
	}
	return becauseCombination
}

// Completer completes matches whose tickets a profile's match function has chosen: it adds modes, regions and teams. It
// is not safe for concurrent use.
type Completer struct{ plan *plan }

// NewCompleter returns the completer of a profile with a match function.
func NewCompleter(p *profile.Profile) *Completer {
	pl := newPlan(p)
	pl.limitsLatency = true // the best region is the one with the lowest worst latency
	return &Completer{plan: pl}
}

// Candidate reports whether a ticket may be in a match of the profile, and if not, everything that it lacks.
func (e *Completer) Candidate(t *match.Ticket) (ok bool, why []Lack) {
	why = e.plan.findLacks(t)
	return len(why) == 0, why
}

// Proposal completes a match of distinct candidates: its modes are those that all tickets allow, its regions are in the
// order of latencies. team is the team of each ticket, by id; players of a ticket without a team have none.
func (e *Completer) Proposal(tickets []*match.Ticket, team map[string]string, regions []Region) Proposal {
	set := newRegionSet(regions)
	var l lineup
	l.resetTo(0, everywhere, 0)
	for _, t := range tickets {
		l.pushPick(e.plan.newCandidate(t, &set))
	}
	slices.SortFunc(l.picks, byAge)
	p := Proposal{Anchor: l.picks[0].ticket.ID, Regions: set.rankRegions(everywhere, &l, e.plan),
		Modes: e.plan.modeNames(l.commonModes())}
	for _, c := range l.picks {
		p.Tickets = append(p.Tickets, c.ticket.ID)
		p.seatTicket(c.ticket, team[c.ticket.ID])
	}
	return p
}

// seatTicket adds the players of a ticket to a team, which may be a new one.
func (p *Proposal) seatTicket(t *match.Ticket, team string) {
	i := slices.IndexFunc(p.Teams, func(o Team) bool { return o.Name == team })
	if i < 0 {
		i = len(p.Teams)
		p.Teams = append(p.Teams, Team{Name: team})
	}
	for _, player := range t.Players {
		p.Teams[i].Seats = append(p.Teams[i].Seats, Seat{Ticket: t.ID, Sub: player.Sub})
	}
}

// Players returns how many players the proposal has.
func (p *Proposal) Players() (n int) {
	for _, t := range p.Teams {
		n += len(t.Seats)
	}
	return n
}
