package console

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
)

// playerView is what templates/player.html reads.
type playerView struct {
	Known  opsview.Player
	Player string // empty: nobody is looked for
	Next   string
	Ticket string                // the latest
	Steps  []opsview.TicketState // of Ticket
}

// IsKnown reports whether anything is known of the player.
func (v playerView) IsKnown() bool {
	k := v.Known
	return len(k.Seats)+len(k.Refusals)+len(k.Tickets)+len(k.Lobby)+len(k.Past) > 0
}

// playerPage looks for a player by the sub of the access token. universe is the region of tickets.
func playerPage(universe string) page[playerView] {
	return page[playerView]{path: "/players", template: "player", every: 3 * time.Second,
		load: func(ctx context.Context, s Store, q query) (v playerView, err error) {
			v.Player = q.Get("q")
			if v.Player == "" {
				return v, nil
			}
			past := opsview.Page{Limit: pageSize}
			_, last := q.After()
			if before, err := time.Parse(time.RFC3339Nano, last); err == nil { // a malformed one is the first page
				past.After = []any{before}
			}
			v.Known, err = readAll(ctx, s, func(ctx context.Context, r opsview.Querier) (opsview.Player, error) {
				return opsview.ReadPlayer(ctx, r, v.Player, universe, past)
			})
			if err != nil {
				return v, err
			}
			if v.Known.PastMore {
				v.Next = q.Next("", v.Known.Past[len(v.Known.Past)-1].LeftAt.Format(time.RFC3339Nano))
			}
			if len(v.Known.Tickets) > 0 {
				v.Ticket = v.Known.Tickets[0].Ticket
				v.Steps, err = ticketStates(ctx, s, universe, v.Ticket)
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
	} else if i, err := instanceOf(ctx, c.Store, text); err == nil {
		to = instancePath(i.Instance)
	} else if id, err := uuid.Parse(text); err == nil {
		to = c.findUUID(ctx, id)
	} else if a, err := agentOf(ctx, c.Store, text); err == nil {
		to = agentPath(a.Agent)
	}
	g.Redirect(http.StatusSeeOther, to)
}

// findUUID returns the page of a deployment whose server has not registered, or else of a match.
func (c *Console) findUUID(ctx context.Context, id uuid.UUID) string {
	if d, err := deploymentOf(ctx, c.Store, id); err == nil {
		return deploymentPath(d.Deployment.String())
	}
	return matchPath(id.String())
}
