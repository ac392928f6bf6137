package lobby

import (
	"encoding/json"
	"maps"
	"time"
)

// Logic is the behaviour of a room type. It is pure: the same room and action give the same result. A method that
// returns an error, an [*Error], leaves no changes. Rooms share one Logic, so that it must keep nothing.
type Logic interface {
	// Open returns the state of a new room.
	Open(o Opening) (State, error)
	// Join is called after the member was added to the room, Leave after it was removed.
	Join(r *Room, m Member, o Options) error
	Leave(r *Room, m Member) error
	// Away is called after the member has lost its socket, Back when it has one again.
	Away(r *Room, m Member) error
	Back(r *Room, m Member) error
	// Message is called for a message of a member.
	Message(r *Room, m Member, msg Message) error
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
	Bytes           bool
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

// atomic makes an action of act: if act fails, the room is as before. Members and Invited are replaced, never changed
// in place, so that a copy of the room keeps them.
func atomic(act func(*Room) error) Action {
	return func(r *Room) error {
		before := *r
		before.State = maps.Clone(r.State)
		r.Answer = nil
		err := act(r)
		if err != nil {
			*r = before
		}
		return err
	}
}

// bounded makes an action of act that fails if the state is too big after it. Actions by which members leave have no
// such bound.
func bounded(act func(*Room) error) Action {
	return atomic(func(r *Room) error {
		if err := act(r); err != nil {
			return err
		}
		if len(r.State) > maxStateKeys || r.State.Bytes() > maxStateBytes-directorBytes {
			return ErrStateTooBig
		}
		return nil
	})
}
