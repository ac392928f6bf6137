package lobby

// Logic is the behaviour of a room type. It is pure: the same room and action give the same result. A method that
// returns an error, an [*Error], leaves no changes. All rooms of a type share one Logic, which therefore
// has no state of its own.
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

const (
	maxStateBytes = 64 << 10
	maxStateKeys  = 256
	// directorBytes of maxStateBytes are reserved for what the director itself sets, such as the match of a party.
	directorBytes   = 1 << 10
	maxDataBytes    = 64 << 10 // of the JSON of a message
	maxBytesMessage = 8 << 10  // of a message of bytes, decoded
)

// memberless is the part of a logic whose rooms do not change with their members.
type memberless struct{}

func (memberless) OnJoin(*Room, Member, Options) error { return nil }

func (memberless) OnLeave(*Room, Member) error { return nil }

func (memberless) OnAway(*Room, Member) error { return nil }

func (memberless) OnBack(*Room, Member) error { return nil }
