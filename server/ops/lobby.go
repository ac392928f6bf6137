package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// LobbyStore is the part of db.Store that the calls about rooms of the realtime lobby need.
type LobbyStore interface {
	As(actor string) db.Act
	ReadLobby(ctx context.Context, project, room string) (db.LobbyDetails, error)
	ProjectRegion(ctx context.Context, project string) (string, error)
	SendToPlayer(ctx context.Context, m db.NewPlayerMessage) (reached int, err error)
}

// lobbyFace lets a backend, or an operator, moderate rooms of the realtime lobby.
type lobbyFace struct{ store LobbyStore }

// roomName names a room in a request.
type roomName struct {
	project, room string
}

func (r roomName) checkIDs(c *rest.Check) {
	const form = "must have 1 to 128 bytes without spaces and control characters"
	c.That(lobby.ValidID(r.project), "project", form)
	c.That(lobby.ValidID(r.room), "room", form)
}

// playerInRoom is a request about a player in a room.
type playerInRoom struct {
	Project string `json:"project"`
	Room    string `json:"room"`
	Player  string `json:"player"`
	Reason  string `json:"reason"`
	Seconds *int   `json:"seconds"`
}

func (r *playerInRoom) name() roomName { return roomName{r.Project, r.Room} }

// Validate implements rest.Validator.
func (r *playerInRoom) Validate(c *rest.Check) {
	r.name().checkIDs(c)
	checkPlayer(c, r.Player)
	checkReason(c, r.Reason)
	// Absent seconds mean that the sanction lasts while the room lives.
	if r.Seconds != nil {
		c.Range("seconds", *r.Seconds, 1, int(lobby.MaxSanction.Seconds()))
	}
}

func checkPlayer(c *rest.Check, player string) {
	c.That(token.ValidSubject(player), "player", "must have 1 to 255 bytes without control characters")
}

// sanctionTime returns how long a sanction lasts; 0: while the room lives.
func (r *playerInRoom) sanctionTime() time.Duration {
	if r.Seconds == nil {
		return 0
	}
	return time.Duration(*r.Seconds) * time.Second
}

// doneAnswer is the answer to a call that has changed a room.
type doneAnswer struct {
	Done bool `json:"done"`
}

func doneUnless(err error) (doneAnswer, error) { return doneAnswer{err == nil}, err }

// actIn returns what the caller may change in a room, for a reason.
func (f lobbyFace) actIn(ctx context.Context, r roomName, reason string) db.RoomAct {
	return f.store.As(rest.Caller(ctx)).Because(reason).InRoom(r.project, r.room)
}

func (f lobbyFace) kickPlayer(ctx context.Context, in rest.In[playerInRoom]) (doneAnswer, error) {
	return doneUnless(f.actIn(ctx, in.Body.name(), in.Body.Reason).Kick(ctx, in.Body.Player))
}

func (f lobbyFace) banPlayer(ctx context.Context, in rest.In[playerInRoom]) (doneAnswer, error) {
	return doneUnless(f.actIn(ctx, in.Body.name(), in.Body.Reason).Ban(ctx, in.Body.Player, in.Body.sanctionTime()))
}

func (f lobbyFace) mutePlayer(ctx context.Context, in rest.In[playerInRoom]) (doneAnswer, error) {
	return doneUnless(f.actIn(ctx, in.Body.name(), in.Body.Reason).Mute(ctx, in.Body.Player, in.Body.sanctionTime()))
}

func (f lobbyFace) pardonPlayer(ctx context.Context, in rest.In[playerInRoom]) (doneAnswer, error) {
	return doneUnless(f.actIn(ctx, in.Body.name(), in.Body.Reason).Pardon(ctx, in.Body.Player))
}

// roomChange is a request to change a room.
type roomChange struct {
	Project    string          `json:"project"`
	Room       string          `json:"room"`
	Private    *bool           `json:"private"`
	Locked     *bool           `json:"locked"`
	MaxMembers *int            `json:"max_members"`
	Metadata   json.RawMessage `json:"metadata"`
	Reason     string          `json:"reason"`

	parsedMetadata json.RawMessage // that Validate has read; nil: those of the room stay
}

func (r *roomChange) name() roomName { return roomName{r.Project, r.Room} }

// Validate implements rest.Validator.
func (r *roomChange) Validate(c *rest.Check) {
	r.name().checkIDs(c)
	checkReason(c, r.Reason)
	if r.MaxMembers != nil {
		// The room's type may allow fewer, which ReconfigureRoom checks.
		c.Range("max_members", *r.MaxMembers, 1, lobby.MaxMembers)
	}
	// Absent or null, the metadata stay as they are.
	if len(r.Metadata) == 0 || string(r.Metadata) == "null" {
		return
	}
	parsed, err := lobby.ParseMetadata("metadata", r.Metadata)
	if refused, ok := errors.AsType[*lobby.Error](err); ok {
		// The text begins with the name of the field, for which the problem has a member of its own.
		c.That(false, "metadata", strings.TrimPrefix(refused.Text, "metadata "))
	}
	r.parsedMetadata = parsed
}

func (f lobbyFace) changeRoom(ctx context.Context, in rest.In[roomChange]) (doneAnswer, error) {
	r := in.Body
	return doneUnless(f.actIn(ctx, r.name(), r.Reason).Change(ctx, lobby.Change{
		IsPrivate: r.Private, IsLocked: r.Locked, MaxMembers: r.MaxMembers, NewMetadata: r.parsedMetadata,
	}))
}

type roomClosing struct {
	Project string `json:"project"`
	Room    string `json:"room"`
	Reason  string `json:"reason"`
}

func (r *roomClosing) name() roomName { return roomName{r.Project, r.Room} }

// Validate implements rest.Validator.
func (r *roomClosing) Validate(c *rest.Check) {
	r.name().checkIDs(c)
	checkReason(c, r.Reason)
}

func (f lobbyFace) closeRoom(ctx context.Context, in rest.In[roomClosing]) (doneAnswer, error) {
	return doneUnless(f.actIn(ctx, in.Body.name(), in.Body.Reason).Close(ctx))
}

// roomMessage is a message to the members of a room.
type roomMessage struct {
	Project string          `json:"project"`
	Room    string          `json:"room"`
	Type    string          `json:"type"`
	Data    json.RawMessage `json:"data"`
}

func (r *roomMessage) name() roomName { return roomName{r.Project, r.Room} }

// Validate implements rest.Validator.
func (r *roomMessage) Validate(c *rest.Check) {
	r.name().checkIDs(c)
	checkMessage(c, r.Type, r.Data)
}

func checkMessage(c *rest.Check, kind string, data json.RawMessage) {
	c.Len("type", kind, 1, 128)
	c.That(!strings.ContainsFunc(kind, unicode.IsControl), "type", "must not have control characters")
	c.That(len(data) <= lobby.MaxAnnouncement, "data", fmt.Sprintf("must have at most %d bytes", lobby.MaxAnnouncement))
}

func (f lobbyFace) announceInRoom(ctx context.Context, in rest.In[roomMessage]) (doneAnswer, error) {
	return doneUnless(f.actIn(ctx, in.Body.name(), "").Announce(ctx, in.Body.Type, in.Body.Data))
}
