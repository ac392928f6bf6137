package console

import (
	"context"
	"fmt"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
)

// sessionView is what templates/session.html reads.
type sessionView struct {
	History opsview.SessionHistory

	ID, Region, Mode, Instance string
	Match                      string // empty: none
	Players, MaxPlayers        int32
	Teams                      bool // whether some seat has a team
}

// sessionPage shows an open session, or one that was closed and is still in history.
var sessionPage = page[sessionView]{routePath: "/sessions/:id", templateName: "session", readEvery: 2 * time.Second,
	loadData: loadSession}

// loadSession reads the page of a session, which its actions read as well. Errors: those of db.ParseSessionID;
// NotFound.
func loadSession(ctx context.Context, s Store, q query) (v sessionView, err error) {
	region, id, err := db.ParseSessionID(q.Param("id"))
	if err != nil {
		return v, err
	}
	v.History, err = readOne(ctx, s, func(ctx context.Context, r opsview.Querier) (opsview.SessionHistory, error) {
		return opsview.ReadSession(ctx, r, region, id)
	}, "session_unknown", "no session %s: closed ones are forgotten after some time", q.Param("id"))
	if err != nil {
		return v, err
	}
	if o := v.History.OpenSession; o != nil {
		v.ID, v.Region, v.Mode, v.Instance = o.Session, o.Region, o.Mode, o.Instance
		v.Players, v.MaxPlayers = o.Players, o.MaxPlayers
		if o.Match != nil {
			v.Match = o.Match.String()
		}
	} else if p := v.History.PastSession; p != nil {
		v.ID, v.Region, v.Mode, v.Instance = p.Session, p.Region, p.Mode, p.Instance
		v.Players, v.MaxPlayers = p.Players, p.MaxPlayers
		if p.Match != nil {
			v.Match = p.Match.String()
		}
	}
	for _, seat := range v.History.Seats {
		v.Teams = v.Teams || seat.Team != ""
	}
	return v, nil
}

// closeAction ends a session and frees its seats.
var closeAction = action{
	routePath: "/sessions/:id/close",
	askFirst: func(ctx context.Context, s Store, q query) (question, error) {
		v, err := loadSession(ctx, s, q)
		asked := question{
			Title: "Close session " + shortID(v.ID) + "?", Button: "Close the session", Danger: true,
			Back: sessionPath(v.ID), RequiresReason: true,
			Effects: []string{
				fmt.Sprintf("%s lose their seats in %s on %s.", pluralText(v.Players, "player", "players"), v.Mode,
					v.Instance),
				"The game server gets room for another session; it sees the end in its list of sessions.",
				"This cannot be undone.",
			},
		}
		// The session may have ended since the page with the button was shown.
		if v.History.PastSession != nil {
			asked.Effects = []string{"This session was closed before: " + v.History.PastSession.Reason + "."}
		}
		return asked, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		err := s.As(d.Actor).CloseSession(ctx, q.Param("id"), d.Reason)
		// The same form, or somebody else, has closed the session.
		if fault.Is(err, fault.Conflict) {
			return "The session was closed before: nothing changed.", nil
		}
		return "The session is closed: " + d.Reason, err
	},
}
