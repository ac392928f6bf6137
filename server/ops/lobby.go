package ops

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// LobbyStore is the part of db.Store that the calls about rooms of the realtime lobby need.
type LobbyStore interface {
	ModerateLobby(ctx context.Context, m db.LobbyModeration) error
	LobbyDetails(ctx context.Context, project, room string) (db.LobbyDetails, error)
	ProjectRegion(ctx context.Context, project string) (string, error)
	SendToPlayer(ctx context.Context, m db.NewPlayerMessage) (reached int, err error)
	Now() time.Time
}

// lobbyFace lets a backend, or an operator, moderate rooms of the realtime lobby.
type lobbyFace struct {
	store LobbyStore
	types *lobby.Types
}

// MountLobby adds the routes about rooms of the realtime lobby under /ops/lobby. types are those of the store.
func MountLobby(r gin.IRouter, store LobbyStore, types *lobby.Types) {
	f := lobbyFace{store, types}
	r.GET("/ops/lobby/room", rest.Handle(http.StatusOK, f.room))
	r.POST("/ops/lobby/kick", rest.Handle(http.StatusOK, f.kick))
	r.POST("/ops/lobby/ban", rest.Handle(http.StatusOK, f.ban))
	r.POST("/ops/lobby/mute", rest.Handle(http.StatusOK, f.mute))
	r.POST("/ops/lobby/pardon", rest.Handle(http.StatusOK, f.pardon))
	r.POST("/ops/lobby/change", rest.Handle(http.StatusOK, f.change))
	r.POST("/ops/lobby/close", rest.Handle(http.StatusOK, f.close))
	r.POST("/ops/lobby/message", rest.Handle(http.StatusOK, f.message))
	r.POST("/ops/lobby/tell", rest.Handle(http.StatusOK, f.tell))
}

const maxSanctionSeconds = 31_536_000 // a year

// roomName names a room in a request.
type roomName struct {
	Project string `json:"project"`
	Room    string `json:"room"`
}

func (r roomName) check(c *rest.Check) {
	const form = "must have 1 to 128 bytes without spaces and control characters"
	c.That(lobby.ValidID(r.Project), "project", form)
	c.That(lobby.ValidID(r.Room), "room", form)
}

// punishment is a request about a player in a room.
type punishment struct {
	roomName

	Player  string `json:"player"`
	Reason  string `json:"reason"`
	Seconds *int   `json:"seconds"`
}

// Validate implements rest.Validator.
func (r *punishment) Validate(c *rest.Check) {
	r.check(c)
	checkPlayer(c, r.Player)
	checkReason(c, r.Reason)
	if r.Seconds != nil {
		c.Range("seconds", *r.Seconds, 1, maxSanctionSeconds)
	}
}

func checkPlayer(c *rest.Check, player string) {
	c.That(token.ValidSubject(player), "player", "must have 1 to 255 bytes without control characters")
}

func (r *punishment) facts() map[string]any {
	facts := reasonFacts(r.Reason)
	facts["player"] = r.Player
	addFact(facts, "seconds", r.Seconds)
	return facts
}

// sanction returns the sanction that a request asks for, and the time from which it counts.
func (f lobbyFace) sanction(r punishment) (lobby.Sanction, time.Time) {
	s, now := lobby.Sanction{Player: r.Player, Reason: r.Reason}, f.store.Now()
	if r.Seconds != nil {
		s.EndsAt = now.Add(time.Duration(*r.Seconds) * time.Second).UTC()
	}
	return s, now
}

// done is the answer to a call that has changed a room.
type done struct {
	Done bool `json:"done"`
}

func (f lobbyFace) moderate(ctx context.Context, r roomName, kind string, act lobby.Action,
	detail map[string]any) (done, error) {
	err := f.store.ModerateLobby(ctx, db.LobbyModeration{Project: r.Project, Room: r.Room, Act: act, Kind: kind,
		Actor: rest.Caller(ctx), Detail: detail})
	return done{err == nil}, lobbyProblem(err)
}

func (f lobbyFace) kick(ctx context.Context, in rest.In[punishment]) (done, error) {
	return f.moderate(ctx, in.Body.roomName, "lobby.player_kicked", f.types.Expel(in.Body.Player, "kicked"),
		in.Body.facts())
}

func (f lobbyFace) ban(ctx context.Context, in rest.In[punishment]) (done, error) {
	s, now := f.sanction(in.Body)
	s.IsBan = true
	return f.moderate(ctx, in.Body.roomName, "lobby.player_banned", f.types.Punish(s, now), in.Body.facts())
}

func (f lobbyFace) mute(ctx context.Context, in rest.In[punishment]) (done, error) {
	s, now := f.sanction(in.Body)
	s.IsMute = true
	return f.moderate(ctx, in.Body.roomName, "lobby.player_muted", f.types.Punish(s, now), in.Body.facts())
}

func (f lobbyFace) pardon(ctx context.Context, in rest.In[punishment]) (done, error) {
	return f.moderate(ctx, in.Body.roomName, "lobby.player_pardoned", f.types.Pardon(in.Body.Player), in.Body.facts())
}

// roomChange is a request to change a room.
type roomChange struct {
	roomName

	Private    *bool           `json:"private"`
	Locked     *bool           `json:"locked"`
	MaxMembers *int            `json:"max_members"`
	Metadata   json.RawMessage `json:"metadata"`
	Reason     string          `json:"reason"`
}

// Validate implements rest.Validator.
func (r *roomChange) Validate(c *rest.Check) {
	r.check(c)
	checkReason(c, r.Reason)
	if r.MaxMembers != nil {
		c.Range("max_members", *r.MaxMembers, 1, 2000)
	}
	if len(r.Metadata) > 0 {
		_, err := lobby.ParseMetadata("metadata", r.Metadata)
		if refused, ok := errors.AsType[*lobby.Error](err); ok {
			c.That(false, "metadata", refused.Text[len("metadata "):])
		}
	}
}

func (f lobbyFace) change(ctx context.Context, in rest.In[roomChange]) (done, error) {
	r := in.Body
	change := lobby.Change{IsPrivate: r.Private, IsLocked: r.Locked, MaxMembers: r.MaxMembers}
	facts := reasonFacts(r.Reason)
	if len(r.Metadata) > 0 && string(r.Metadata) != "null" {
		change.Metadata, _ = lobby.ParseMetadata("metadata", r.Metadata) // Validate has read it
		facts["metadata"] = change.Metadata
	}
	addFact(facts, "private", r.Private)
	addFact(facts, "locked", r.Locked)
	addFact(facts, "max_members", r.MaxMembers)
	return f.moderate(ctx, r.roomName, "lobby.changed", f.types.Reconfigure(change), facts)
}

// reasonFacts begins the detail of an event, with the reason if there is one.
func reasonFacts(reason string) map[string]any {
	if reason == "" {
		return map[string]any{}
	}
	return map[string]any{"reason": reason}
}

func addFact[T any](facts map[string]any, name string, value *T) {
	if value != nil {
		facts[name] = *value
	}
}

type roomClosing struct {
	roomName

	Reason string `json:"reason"`
}

// Validate implements rest.Validator.
func (r *roomClosing) Validate(c *rest.Check) {
	r.check(c)
	checkReason(c, r.Reason)
}

func (f lobbyFace) close(ctx context.Context, in rest.In[roomClosing]) (done, error) {
	return f.moderate(ctx, in.Body.roomName, "lobby.closed", f.types.Close(), reasonFacts(in.Body.Reason))
}

// roomMessage is a message to the members of a room.
type roomMessage struct {
	roomName

	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

const maxAnnouncement = 8 << 10 // bytes of data

// Validate implements rest.Validator.
func (r *roomMessage) Validate(c *rest.Check) {
	r.check(c)
	checkMessage(c, r.Type, r.Data)
}

func checkMessage(c *rest.Check, kind string, data json.RawMessage) {
	c.Len("type", kind, 1, 128)
	c.That(!strings.ContainsFunc(kind, unicode.IsControl), "type", "must not have control characters")
	c.That(len(data) <= maxAnnouncement, "data", "must have at most 8192 bytes")
}

func (f lobbyFace) message(ctx context.Context, in rest.In[roomMessage]) (done, error) {
	return f.moderate(ctx, in.Body.roomName, "lobby.messaged", f.types.Announce(in.Body.Type, in.Body.Data),
		map[string]any{"type": in.Body.Type})
}

// lobbyProblem turns what a room refuses into a problem.
func lobbyProblem(err error) error {
	refused, ok := errors.AsType[*lobby.Error](err)
	switch {
	case !ok:
		return err
	case refused == lobby.ErrNotMember:
		return fault.New(fault.NotFound, "player_not_in_room", "the player is neither in the room nor invited to it")
	case refused == lobby.ErrWrongType:
		return fault.New(fault.Conflict, "room_type_unknown",
			"this replica does not know the type of the room: DIRECTOR_REALTIME_ROOMS must be the same everywhere")
	}
	return fault.New(fault.Conflict, "room_refuses", "%s", refused.Text)
}
