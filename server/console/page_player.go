package console

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// playerStore is what the page of a player reads.
type playerStore interface {
	ConsolePlayer(ctx context.Context, f db.PlayerFilter) (db.PlayerView, error)
	ConsoleTicketSteps(ctx context.Context, universe, ticket string) ([]db.TicketStep, error)
}

// playerView is what templates/player.html reads.
type playerView struct {
	db.PlayerView

	Player string // empty: nobody is looked for
	Next   string
	Ticket string          // the latest
	Steps  []db.TicketStep // of Ticket
}

// Known reports whether anything is known of the player.
func (v playerView) Known() bool {
	return len(v.Seats)+len(v.Refusals)+len(v.Tickets)+len(v.Lobby)+len(v.Past) > 0
}

// playerPage looks for a player by the sub of the access token. universe is the region of tickets.
func playerPage(universe string) page[playerView] {
	return page[playerView]{path: "/players", template: "player", every: 3 * time.Second, load: func(ctx context.Context, s Store, q query) (v playerView, err error) {
		v.Player = q.Get("q")
		if v.Player == "" {
			return v, nil
		}
		_, last := q.After()
		before, _ := time.Parse(time.RFC3339Nano, last) // a malformed one is the first page
		if v.PlayerView, err = s.ConsolePlayer(ctx, db.PlayerFilter{Player: v.Player, Universe: universe, Before: before, Page: pageSize}); err != nil {
			return v, err
		}
		if v.PastMore {
			v.Next = q.Next("", v.Past[len(v.Past)-1].LeftAt.Format(time.RFC3339Nano))
		}
		if len(v.Tickets) > 0 {
			v.Ticket = v.Tickets[0].Ticket
			v.Steps, err = s.ConsoleTicketSteps(ctx, universe, v.Ticket)
		}
		return v, err
	}}
}

// find leads from the search of the frame to the page of what has this id.
func (c *Console) find(g *gin.Context) {
	text := queryOf(g).Get("q")
	ctx, cancel := c.bounded(g.Request.Context())
	defer cancel()
	to := playerPath(text)
	if _, _, err := db.ParseSessionID(text); err == nil {
		to = sessionPath(text)
	} else if db.IssuedHere(c.Universe, db.TicketID, text) {
		to = ticketPath(text)
	} else if i, err := c.Store.ConsoleInstance(ctx, text); err == nil {
		to = instancePath(i.Instance)
	} else if id, err := uuid.Parse(text); err == nil {
		to = c.findUUID(ctx, id)
	} else if a, err := c.Store.ConsoleAgent(ctx, text); err == nil {
		to = agentPath(a.Agent)
	}
	g.Redirect(http.StatusSeeOther, to)
}

// findUUID returns the page of a deployment whose server has not registered, or else of a match.
func (c *Console) findUUID(ctx context.Context, id uuid.UUID) string {
	if d, err := c.Store.ConsoleDeployment(ctx, id); err == nil {
		return deploymentPath(d.Deployment.String())
	}
	return matchPath(id.String())
}
