package ops

import (
	"context"
	"encoding/json"
	"time"

	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/rest"
)

// roomAnswer is a room with its members.
type roomAnswer struct {
	Project    string          `json:"project"`
	Room       string          `json:"room"`
	Type       string          `json:"type"`
	MaxMembers int             `json:"max_members"`
	Private    bool            `json:"private"`
	Locked     bool            `json:"locked"`
	Code       string          `json:"code,omitempty"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	CreatedAt  time.Time       `json:"created_at"`
	Members    []memberAnswer  `json:"members"`
	Invited    []string        `json:"invited"` // players
	Banned     []sanctioned    `json:"banned"`
	Muted      []sanctioned    `json:"muted"`
}

type memberAnswer struct {
	Session string `json:"session"`
	Player  string `json:"player"`
	Away    bool   `json:"away"`
}

// sanctioned is a player who is banned or muted.
type sanctioned struct {
	Player string     `json:"player"`
	Until  *time.Time `json:"until,omitempty"` // nil: while the room lives
	Reason string     `json:"reason,omitempty"`
}

func (f lobbyFace) room(ctx context.Context, in rest.In[rest.None]) (roomAnswer, error) {
	name := roomName{in.Query("project"), in.Query("room")}
	var c rest.Check
	name.check(&c)
	if err := c.Err(); err != nil {
		return roomAnswer{}, err
	}
	d, err := f.store.LobbyDetails(ctx, name.Project, name.Room)
	a := roomAnswer{
		Project: name.Project, Room: name.Room, Type: d.Type, MaxMembers: d.MaxMembers, Private: d.Private,
		Locked: d.IsLocked, Code: d.Code, Metadata: d.Metadata, CreatedAt: d.CreatedAt.UTC(), Members: []memberAnswer{},
		Invited: []string{}, Banned: []sanctioned{}, Muted: []sanctioned{},
	}
	for _, m := range d.Members {
		a.Members = append(a.Members, memberAnswer{m.Session, m.Player, m.Away})
	}
	for _, m := range d.Invited {
		a.Invited = append(a.Invited, m.Player)
	}
	a.addSanctions(d.Sanctions, f.store.Now())
	return a, err
}

// addSanctions adds those that are in force.
func (a *roomAnswer) addSanctions(all []lobby.Sanction, now time.Time) {
	for _, s := range all {
		one := sanctioned{Player: s.Player, Reason: s.Reason}
		if !s.EndsAt.IsZero() {
			one.Until = &s.EndsAt
		}
		switch {
		case s.IsOver(now):
		case s.IsBan:
			a.Banned = append(a.Banned, one)
		default:
			a.Muted = append(a.Muted, one)
		}
	}
}
