package lobby

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"
)

// isSpeech reports whether a message is what members say to each other, which a muted member may not.
func isSpeech(logic Logic, m Message) bool {
	if _, grouped := logic.(queuing); grouped {
		return m.Type == MessageSay || strings.HasPrefix(m.Type, customMessage)
	}
	return true
}

// moderatingAction makes an action of a backend or an operator, for whom a room that a client may make has to exist.
func moderatingAction(act func(*Room) error) Action {
	return atomicAction(func(r *Room) error {
		if r.Type == "" {
			return ErrNotFound
		}
		return act(r)
	})
}

// ExpelPlayer returns the action by which the sessions of a player leave a room, and its invitations end. reason is
// what all members receive, such as kicked. Errors: [ErrNotMember] if it has neither.
func (t *Types) ExpelPlayer(player, reason string) Action {
	return moderatingAction(func(r *Room) error {
		found, err := t.expelPlayer(r, player, reason)
		if err == nil && !found {
			err = ErrNotMember
		}
		return err
	})
}

// expelPlayer removes all sessions and invitations of a player: one that is left would be a way back in.
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
		// A logic may change the members when one leaves: each is looked for anew.
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

// PunishPlayer returns the action that bans a player from a room, which expels it, or mutes it in the room. now is the
// time from which EndsAt counts. Errors: code invalid if the room has too many sanctions.
func (t *Types) PunishPlayer(s Sanction, now time.Time) Action {
	return moderatingAction(func(r *Room) error {
		if s.Player == "" || len(s.Player) > maxPlayer || strings.ContainsFunc(s.Player, unicode.IsControl) {
			return Invalid("player", "must have 1 to %d bytes without control characters", maxPlayer)
		}
		if err := r.addSanction(s, now); err != nil || !s.IsBan {
			return err
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
		// Only the members of these rooms can be in the queue.
		if t.hasOwner(r) {
			takeBack(r)
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
	checked, invalid := Message{Type: kind, Data: data}.checkForm()
	if len(data) > MaxAnnouncement {
		invalid = Invalid("data", "must have at most %d bytes", MaxAnnouncement)
	}
	return moderatingAction(func(r *Room) error {
		if invalid == nil {
			r.TellMembers(checked.Type, checked.Data)
		}
		return invalid
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

// HandleMessage returns the action of a message from a member.
func (t *Types) HandleMessage(m Message) Action {
	// Once, and outside of the action, which may run again after a conflict.
	checked, invalid := m.checkForm()
	return boundedAction(func(r *Room) error {
		if r.Type == "" {
			return ErrNotFound
		}
		member, ok := r.Member(m.Session)
		if !ok {
			return ErrNotMember
		}
		logic := t.logicOf(r)
		if logic == nil {
			return ErrWrongType
		}
		// After the checks above: a client that is in no room gets that error first.
		if invalid != nil {
			return invalid
		}
		if isSpeech(logic, checked) && r.isSanctioned(m.Player, m.SentAt, func(s Sanction) bool { return s.IsMute }) {
			return ErrMuted
		}
		return logic.OnMessage(r, member, checked)
	})
}
