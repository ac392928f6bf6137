package loop

import (
	"encoding/json"

	"github.com/lattice-director/director/match/decide"
)

// whyBytes bounds the stored reasons of a decision.
const whyBytes = 4096

// why is what match_history keeps of a decision, so that it can be explained. Fields are only added.
type why struct {
	Schema     int         `json:"schema"`
	Anchor     string      `json:"anchor"`
	Rules      []whyRule   `json:"rules,omitempty"`
	Teams      []whyTeam   `json:"teams,omitempty"`
	Regions    []whyRegion `json:"regions,omitempty"`
	PassedOver []whyPassed `json:"passed_over,omitempty"`
	Truncated  bool        `json:"truncated,omitempty"`
}

type whyRule struct {
	Rule  string  `json:"rule"`
	Value float64 `json:"value"`
	Limit float64 `json:"limit"`
	Text  string  `json:"text,omitempty"`
}

type whyTeam struct {
	Name    string   `json:"name"`
	Tickets []string `json:"tickets"`
}

type whyRegion struct {
	Region string `json:"region"`
	Worst  int    `json:"ms"`
}

type whyPassed struct {
	Ticket  string `json:"ticket_id"`
	Because string `json:"because"`
}

// explain encodes the reasons of a decision. Where they are too long, it leaves out what says least.
func explain(found decide.Proposal) (json.RawMessage, error) {
	w := whyOf(found)
	for _, shorten := range []func(){
		func() {}, func() { w.PassedOver = nil }, func() { w.Regions = nil }, func() { w.Teams = nil }, func() { w.Rules = nil },
	} {
		shorten()
		text, err := json.Marshal(w)
		if err != nil || len(text) <= whyBytes {
			return text, err
		}
		w.Truncated = true
	}
	return json.Marshal(why{Schema: 1, Anchor: found.Anchor, Truncated: true})
}

func whyOf(found decide.Proposal) why {
	w := why{Schema: 1, Anchor: found.Anchor}
	for _, r := range found.Rules {
		w.Rules = append(w.Rules, whyRule{r.ID, r.Value, r.Limit, r.Text})
	}
	for _, t := range found.Teams {
		team := whyTeam{Name: t.Name}
		for _, s := range t.Seats {
			if n := len(team.Tickets); n == 0 || team.Tickets[n-1] != s.Ticket {
				team.Tickets = append(team.Tickets, s.Ticket)
			}
		}
		w.Teams = append(w.Teams, team)
	}
	for _, r := range found.Regions {
		w.Regions = append(w.Regions, whyRegion{r.Name, r.Worst})
	}
	for _, p := range found.PassedOver {
		w.PassedOver = append(w.PassedOver, whyPassed{p.Ticket, p.Because})
	}
	return w
}
