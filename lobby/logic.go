package lobby

import (
	"encoding/json"
	"maps"
	"time"
)

// Logic is the behaviour of a room type. It is pure: the same room and action give the same result. A method that
// returns an error, an [*Error], leaves no changes. Rooms share one Logic, so that it must keep nothing.
type Logic interface {
	// OpenState returns the state of a new room.
	OpenState(o Opening) (State, error)
	// OnJoin is called after the member was added to the room, OnLeave after it was removed.
	OnJoin(r *Room, m Member, o Options) error
	OnLeave(r *Room, m Member) error
	// OnAway is called after the member has lost its socket, OnBack when it has one again.
	OnAway(r *Room, m Member) error
	OnBack(r *Room, m Member) error
	// OnMessage is called for a message of a member.
	OnMessage(r *Room, m Member, msg Message) error
}

// Opening says who makes a room, and how.
type Opening struct {
	Type    Type
	Session string // empty for the room of a match
	Player  string
	Options Options
}

// Message is what a member sends to its room.
type Message struct {
	Session, Player string
	Type            string
	Data            json.RawMessage // any JSON; of bytes: a string of base64
	IsBytes         bool
	SentAt          time.Time // for sanctions that end; zero: none has ended
}

const (
	maxStateBytes = 64 << 10
	maxStateKeys  = 256
	// of maxStateBytes, for what the director itself sets: the match of a party, members that are back
	directorBytes   = 1 << 10
	maxDataBytes    = 64 << 10
	maxBytesMessage = 8 << 10
)

// atomicAction makes an action of act: if act fails, the room is as before. Actions replace Members, InvitedMembers and
// Sanctions and never change them in place, since the copy of the room from before shares them.
func atomicAction(act func(*Room) error) Action {
	return func(r *Room) error {
		before := *r
		before.State = maps.Clone(r.State)
		r.CallerAnswer = nil
		err := act(r)
		if err != nil {
			*r = before
		}
		return err
	}
}

// boundedAction makes an action of act that fails if the state is too big after it. Actions by which members leave have
// no such bound: a session that has ended must leave in any case.
func boundedAction(act func(*Room) error) Action {
	return atomicAction(func(r *Room) error {
		if err := act(r); err != nil {
			return err
		}
		if len(r.State) > maxStateKeys || r.State.JSONBytes() > maxStateBytes-directorBytes {
			return ErrStateTooBig
		}
		return nil
	})
}
