package lobby

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
)

// moderatingAction makes an action of a backend or an operator, which fails with [ErrNotFound] if there is no room.
func moderatingAction(act func(*Room) error) Action {
	return atomicAction(func(r *Room) error {
		if r.Type == "" {
			return ErrNotFound
		}
		return act(r)
	})
}

// ExpelPlayer returns the action by which the sessions of a player leave a room, and its invitations end. reason is
// what all members receive, such as kicked. Errors: [ErrNotMember] if the player has neither.
func (t *Types) ExpelPlayer(player, reason string) Action {
	return moderatingAction(func(r *Room) error {
		found, err := t.expelPlayer(r, player, reason)
		if err != nil {
			return err
		}
		if !found {
			return ErrNotMember
		}
		return nil
	})
}

// expelPlayer removes all sessions and invitations of a player, since an invitation would be a way back into the room.
// It reports whether it found any.
func (t *Types) expelPlayer(r *Room, player, reason string) (found bool, err error) {
	invited := len(r.InvitedMembers)
	r.InvitedMembers = slices.DeleteFunc(slices.Clone(r.InvitedMembers),
		func(m Member) bool { return m.Player == player })
	found = len(r.InvitedMembers) < invited
	logic := t.logicOf(r)
	if logic == nil {
		return false, ErrWrongType // this process has no logic for the type, so OnLeave could not run
	}
	for {
		// Searched anew each time, because OnLeave may change the members.
		at := slices.IndexFunc(r.Members, func(m Member) bool { return m.Player == player })
		if at < 0 {
			return found, nil
		}
		gone, _ := r.RemoveMember(r.Members[at].Session, reason)
		found = true
		if err := logic.OnLeave(r, gone); err != nil {
			return found, err
		}
	}
}

// PunishPlayer returns the action that bans a player from a room, which expels it, or mutes it in the room. At now,
// sanctions that are over make room for the new one. Errors: code invalid if the room has too many sanctions.
func (t *Types) PunishPlayer(s Sanction, now time.Time) Action {
	return moderatingAction(func(r *Room) error {
		if s.Player == "" || len(s.Player) > maxPlayer || strings.ContainsFunc(s.Player, unicode.IsControl) {
			return Invalid("player", "must have 1 to %d bytes without control characters", maxPlayer)
		}
		if err := r.addSanction(s, now); err != nil {
			return err
		}
		if !s.IsBan {
			return nil
		}
		_, err := t.expelPlayer(r, s.Player, "banned")
		return err
	})
}

// PardonPlayer returns the action that ends the ban and the mute of a player. It changes nothing where there is none.
func (t *Types) PardonPlayer(player string) Action {
	return moderatingAction(func(r *Room) error {
		r.Sanctions = slices.DeleteFunc(slices.Clone(r.Sanctions), func(s Sanction) bool { return s.Player == player })
		return nil
	})
}

// CloseRoom returns the action that ends a room: its members leave it, and the queue.
func (t *Types) CloseRoom() Action {
	return moderatingAction(func(r *Room) error {
		// Only the members of rooms with an owner can be in the queue.
		if t.hasOwner(r) {
			dequeueAndReopen(r)
		}
		r.IsClosed = true
		return nil
	})
}

// MaxAnnouncement bounds the data of [Types.AnnounceMessage], in bytes.
const MaxAnnouncement = 8 << 10

// AnnounceMessage returns the action by which a backend sends the members of a room a message, which comes from the
// room itself. Errors: code invalid.
func (t *Types) AnnounceMessage(kind string, data json.RawMessage) Action {
	return moderatingAction(func(r *Room) error {
		if len(data) > MaxAnnouncement {
			return Invalid("data", "must have at most %d bytes", MaxAnnouncement)
		}
		checked, err := Message{Type: kind, Data: data}.cleanMessage()
		if err != nil {
			return err
		}
		r.TellMembers(checked.Type, checked.Data)
		return nil
	})
}

// ReconfigureRoom returns the action by which a backend changes a room, whoever owns it. Errors: [ErrOfMatch]; code
// invalid.
func (t *Types) ReconfigureRoom(c Change) Action {
	return boundedAction(moderatingAction(func(r *Room) error {
		if r.Participants != nil {
			return ErrOfMatch
		}
		return t.changeRoom(r, c)
	}))
}
