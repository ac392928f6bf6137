package db

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
)

// RoomAct changes a room of the realtime lobby in the name of a person or a backend, who need not be a member. Each
// change writes an event in the same transaction, with the actor and the reason of the Act. The calls need the
// director's own role in the database, and a store that knows the room's type. RoomAct is safe for concurrent use.
//
// All calls return these errors: NotFound, "lobby_unknown", without the project or the room; Conflict, "room_refuses",
// and "room_type_unknown" where the store does not know the type of the room; Elsewhere where another cell serves the
// project; Unavailable.
type RoomAct struct {
	act               Act // of a person or a backend
	projectID, roomID string
}

// InRoom returns what a person may change in a room of the realtime lobby.
func (a Act) InRoom(project, room string) RoomAct { return RoomAct{a, project, room} }

// Kick takes a player out of the room, and ends the player's invitations. The player may join again. Errors: NotFound,
// "player_not_in_room".
func (r RoomAct) Kick(ctx context.Context, player string) error {
	return r.moderate(ctx, "lobby.player_kicked", r.roomTypes().ExpelPlayer(player, "kicked"),
		map[string]any{"player": player})
}

// Ban takes a player out of the room, who may not join again for a time; 0: while the room lives.
func (r RoomAct) Ban(ctx context.Context, player string, duration time.Duration) error {
	return r.punish(ctx, "lobby.player_banned", lobby.Sanction{Player: player, IsBan: true}, duration)
}

// Mute makes the room refuse what a player says for a time; 0: while the room lives.
func (r RoomAct) Mute(ctx context.Context, player string, duration time.Duration) error {
	return r.punish(ctx, "lobby.player_muted", lobby.Sanction{Player: player, IsMute: true}, duration)
}

func (r RoomAct) punish(ctx context.Context, eventKind string, s lobby.Sanction, duration time.Duration) error {
	now := r.act.store.Now()
	facts := map[string]any{"player": s.Player}
	if duration > 0 {
		s.EndsAt = now.Add(duration).UTC()
		facts["seconds"] = int(duration.Seconds())
	}
	s.Reason = r.act.reason
	return r.moderate(ctx, eventKind, r.roomTypes().PunishPlayer(s, now), facts)
}

// Pardon ends the ban and the mute of a player, and is no error without either.
func (r RoomAct) Pardon(ctx context.Context, player string) error {
	return r.moderate(ctx, "lobby.player_pardoned", r.roomTypes().PardonPlayer(player), map[string]any{"player": player})
}

// Change changes settings of the room, whichever member owns the room.
func (r RoomAct) Change(ctx context.Context, c lobby.Change) error {
	facts := map[string]any{}
	if c.NewMetadata != nil {
		facts["metadata"] = c.NewMetadata
	}
	addFact(facts, "private", c.IsPrivate)
	addFact(facts, "locked", c.IsLocked)
	addFact(facts, "max_members", c.MaxMembers)
	return r.moderate(ctx, "lobby.changed", r.roomTypes().ReconfigureRoom(c), facts)
}

func addFact[T any](facts map[string]any, name string, value *T) {
	if value != nil {
		facts[name] = *value
	}
}

// Close ends the room: its members leave the room and the queue. The next session that joins the id makes a new room.
func (r RoomAct) Close(ctx context.Context) error {
	return r.moderate(ctx, "lobby.closed", r.roomTypes().CloseRoom(), map[string]any{})
}

// Announce sends the members a message from the room itself. The event has the type of the message, and not its data.
func (r RoomAct) Announce(ctx context.Context, kind string, data json.RawMessage) error {
	return r.moderate(ctx, "lobby.messaged", r.roomTypes().AnnounceMessage(kind, data), map[string]any{"type": kind})
}

func (r RoomAct) roomTypes() *lobby.Types { return r.act.store.cfg.RoomTypes }

// moderate runs an action in the room that is no member's, and writes its event.
func (r RoomAct) moderate(ctx context.Context, eventKind string, action lobby.Action, facts map[string]any) error {
	s := r.act.store
	region, err := s.regionOfLobby(ctx, r.projectID, r.roomID)
	if err != nil {
		return err
	}
	step := lobbyStep{action: LobbyAction{Region: region, ProjectID: r.projectID, RoomID: r.roomID, Act: action}}
	var turn *lobbyTurn
	err = lockingSessions(func(further []string) error {
		return s.frame.InTxWithRetries(ctx, func(q *query.Queries) (err error) {
			if turn, err = s.actIn(ctx, q, region, []lobbyStep{step}, further); err != nil {
				return err
			}
			// An error of the action rolls back, too: a refused change leaves no event.
			if err := turn.stepResults[0].err; err != nil {
				return err
			}
			return r.logEvent(ctx, q, region, eventKind, facts)
		})
	})
	if err != nil {
		return moderationError(err)
	}
	s.wakeReplicas(turn)
	return nil
}

// regionOfLobby returns the region of the project of a room. Errors: NotFound, "lobby_unknown", also for an id that no
// room can have; Elsewhere; Unavailable.
func (s *Store) regionOfLobby(ctx context.Context, project, room string) (string, error) {
	region, err := s.ProjectRegion(ctx, project)
	if fault.Is(err, fault.NotFound) {
		return "", lobbyUnknown()
	}
	if err != nil {
		return "", err
	}
	if !lobby.ValidID(room) {
		return "", lobbyUnknown()
	}
	return region, nil
}

// moderationError turns the error of an action into an error of the store.
func moderationError(err error) error {
	refused, ok := errors.AsType[*lobby.Error](err)
	if !ok {
		return frame.Classify(err)
	}
	switch refused {
	case lobby.ErrNotFound:
		return lobbyUnknown()
	case lobby.ErrNotMember:
		return fault.New(fault.NotFound, "player_not_in_room", "the player is neither in the room nor invited to it")
	case lobby.ErrWrongType:
		return fault.New(fault.Conflict, "room_type_unknown",
			"this replica does not know the type of the room: DIRECTOR_REALTIME_ROOMS must be the same everywhere")
	}
	return fault.New(fault.Conflict, "room_refuses", "%s", refused.Text)
}

// logEvent records the event of a change. Without an actor, the event names the login of the database, as the events of
// the functions of schema ops do.
func (r RoomAct) logEvent(ctx context.Context, q *query.Queries, region, eventKind string, facts map[string]any) error {
	actor := r.act.actor
	if actor == "" {
		login, err := q.Login(ctx)
		if err != nil {
			return err
		}
		actor = login
	}
	facts["project"], facts["room"] = r.projectID, r.roomID
	if r.act.reason != "" {
		facts["reason"] = r.act.reason
	}
	detail, err := json.Marshal(facts)
	if err != nil {
		return err
	}
	return q.LogProject(ctx, query.LogProjectParams{Region: region, Kind: eventKind, Actor: actor, Detail: detail})
}
