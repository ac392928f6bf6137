package console

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
)

// evacuationsView is what templates/evacuations.html reads.
type evacuationsView struct {
	Evacuations []opsview.Evacuation // the latest first
	HasMore     bool                 // older ones exist
}

// evacuationsPage shows the evacuations that are running or were made lately.
var evacuationsPage = page[evacuationsView]{routePath: "/evacuations", templateName: "evacuations",
	readEvery: time.Second,
	loadData:  loadEvacuations}

func loadEvacuations(ctx context.Context, s Store, _ query) (v evacuationsView, err error) {
	v.Evacuations, v.HasMore, err = listView(ctx, s, opsview.Evacuations, opsview.EvacuationFilter{},
		opsview.Page{Limit: pageSize})
	return v, err
}

// evacuationView is what templates/evacuation.html reads.
type evacuationView struct {
	Evacuation opsview.Evacuation
	Players    []opsview.EvacuatedPlayer
	Outcome    string // the outcome that the filter selects; "": all
	Next       string
}

// evacuationPage shows an evacuation, and what became of its players.
var evacuationPage = page[evacuationView]{routePath: "/evacuations/:id", templateName: "evacuation",
	readEvery: time.Second,
	loadData:  loadEvacuation}

// loadEvacuation reads the page of an evacuation. Errors: Invalid, for an id that is no UUID; NotFound.
func loadEvacuation(ctx context.Context, s Store, q query) (v evacuationView, err error) {
	id, err := idParam(q, "evacuation")
	if err != nil {
		return v, err
	}
	v.Evacuation, err = readRow(ctx, s, opsview.Evacuations, opsview.EvacuationFilter{ID: &id}, "not_found",
		"There is no evacuation %s: reports are kept for a week.", id)
	if err != nil {
		return v, err
	}
	v.Outcome = q.Get("outcome")
	found, more, err := listView(ctx, s, opsview.EvacuatedPlayers,
		opsview.EvacuatedPlayerFilter{Evacuation: &id, Outcome: v.Outcome}, evacuatedAfter(q))
	v.Players = found
	if more {
		last := found[len(found)-1]
		v.Next = q.Next(last.Region+" "+last.Instance+" "+last.Session, last.Player)
	}
	return v, err
}

// evacuatedAfter is the page of players that the query asks for. Before its tilde, the key has the region, the game
// server and the session, separated by spaces. A malformed key is the first page.
func evacuatedAfter(q query) opsview.Page {
	p := opsview.Page{Limit: pageSize}
	place, player := q.lastKey()
	var region, instance, session string
	if n, err := fmt.Sscan(place, &region, &instance, &session); err == nil && n == 3 {
		p.After = []any{region, instance, session, player}
	}
	return p
}

// The fields of the form of an evacuation.
const (
	fieldRequeue = "requeue"
	fieldDead    = "dead"
	fieldSeatsIn = "seats_in"
)

// lostWithin is how long before an evacuation from the console players may have lost their game server.
const lostWithin = 10 * time.Minute

// evacuationTarget is what the path of the action names.
func (d drainGroup) evacuationTarget(q query) db.EvacuationTarget {
	return db.EvacuationTarget{Name: q.Param(d.noun), Kind: d.noun, LostWithin: lostWithin}
}

// evacuateAction takes the players off all game servers of the group.
func (d drainGroup) evacuateAction() action {
	return action{
		routePath: "/" + d.noun + "s/:" + d.noun + "/evacuate",
		askFirst: func(ctx context.Context, s Store, q query) (question, error) {
			p, err := s.PreviewEvacuation(ctx, d.evacuationTarget(q))
			return question{
				Title: "Evacuate " + fmt.Sprintf(d.membersText, q.Param(d.noun)) + "?", Button: "Evacuate",
				Danger:         true,
				RequiresReason: true,
				Back:           "/evacuations",
				Effects: []string{
					"They drain until somebody undrains them. " +
						pluralText(p.Sessions, "open session closes", "open sessions close") + ", and " +
						pluralText(p.Players, "player loses the seat", "players lose their seats") + ".",
					fmt.Sprintf("Of %s, %d report. Those that do not report end.",
						pluralText(p.Servers, "game server", "game servers"), p.Alive),
					fmt.Sprintf("Within the last %.0f minutes %s lost such a game server. They count as well, unless they "+
						"wait or play elsewhere.", lostWithin.Minutes(), pluralText(p.Lost, "player", "players")),
					"This cannot be undone.",
				},
				Fields: []field{
					{Name: fieldRequeue, Label: "Let the players continue elsewhere", Value: "yes", YesOrEmpty: true,
						Help: fmt.Sprintf("Write yes: %s again, as old in the queue as before, and the others get seats "+
							"elsewhere. Empty: they only lose their seats.",
							pluralText(p.Matched, "player whom a profile matched waits",
								"players whom a profile matched wait"))},
					{Name: fieldDead, Label: "Declare the game servers dead", YesOrEmpty: true,
						Help: "Write yes to end also those that report."},
					{Name: fieldSeatsIn, Label: "Region for players without a ticket",
						Help: "In which players of POST /matchmake get seats. Empty: in which they were; nowhere if that region goes."},
				},
			}, err
		},
		do: func(ctx context.Context, s Store, q query, by deed) (string, error) {
			_, err := s.As(by.Actor).Because(by.Reason).Evacuate(ctx, db.NewEvacuation{
				Target: d.evacuationTarget(q), Requeue: by.saysYes(fieldRequeue),
				Dead:    by.saysYes(fieldDead),
				SeatsIn: by.Values[fieldSeatsIn]})
			return "The evacuation has begun.", blameForm(err)
		},
	}
}

// blameForm makes a region that does not exist a fault of the form, which names it, where it would be a missing page.
func blameForm(err error) error {
	if refused, ok := errors.AsType[*fault.Error](err); ok && refused.Kind == fault.NotFound {
		return fault.New(fault.Invalid, "invalid", "%s", refused.Detail)
	}
	return err
}
