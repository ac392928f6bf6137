package lobby

import "encoding/json"

// Event is something that the client has received or noticed: one of the types of this file, or a [PlayerMessage]. An
// event of a newer director is an [Unknown].
type Event interface{ isEvent() }

// The events of the connection.
type (
	// Connected means that the client is connected, and has resumed its session or has a new one.
	Connected struct {
		URL, Session string
		Resumed      bool
	}
	// Disconnected means that the connection has ended; the client connects again.
	Disconnected struct{ Err error }
	// Ended means that the client has ended, and no event follows.
	Ended struct{ Err error }
)

// The events of a room in which the session is.
type (
	// Message was sent to the room. From is the session that sent it, "" for a message of the room itself, such as
	// "matched" or "unqueued".
	Message struct {
		Room string          `json:"-"`
		Type string          `json:"type"`
		From string          `json:"from"`
		Data json.RawMessage `json:"data"`
		// The room remembers the last lines of chat: Number counts them, At is the time in milliseconds since 1970, and
		// FromPlayer the sender's name in its token. All of them are empty for other messages.
		Number     int64  `json:"number"`
		At         int64  `json:"at"`
		FromPlayer string `json:"from_player"`
		// Repeated means that the message was sent while the client was away. A message that the client has received
		// already is not published again. ID is two numbers with a dot between them; later messages have greater ones.
		Repeated bool   `json:"repeated"`
		ID       string `json:"id"`
	}
	// Joined means that a session has become a member.
	Joined struct {
		Room    string `json:"-"`
		Session string `json:"client_id"`
	}
	// Dropped means that a member has lost its connection.
	Dropped Joined
	// Reconnected means that a member is back.
	Reconnected Joined
	// Left means that a session is no member any more. Self is true for that of this client. Reason is "kicked",
	// "replaced" (the player has joined with another session), the code of a refusal where the client could not join
	// again after its session had ended, or "".
	Left struct {
		Room    string `json:"-"`
		Session string `json:"client_id"`
		Reason  string `json:"reason"`
		Self    bool   `json:"-"`
	}
	// MembersChanged means that the members of the room have changed: [Room.State] has them.
	MembersChanged struct{ Room string }
	// StateChanged means that the room has another state.
	StateChanged struct{ Room string }
)

// The events of invitations and of the queue.
type (
	// Invited means that somebody invites the player. Join the room, or leave it to decline.
	Invited struct {
		Room       string `json:"room"`
		RoomType   string `json:"room_type"`
		From       string `json:"from"`        // a session
		FromPlayer string `json:"from_player"` // the player's name in its token
	}
	// MatchFound names the room to join, with its type. It is sent again on each connection until the session has
	// joined the room.
	MatchFound struct {
		Room         string   `json:"room"`
		RoomType     string   `json:"room_type"`
		Size         int      `json:"size"`
		Participants []string `json:"participants"` // sessions
	}
	// MatchPending gives the player so many seconds to accept or to decline.
	MatchPending struct {
		RoomType string `json:"room_type"`
		Size     int    `json:"size"`
		Seconds  int    `json:"seconds"`
		MatchID  string `json:"match_id"`
	}
	// QueueExpired means that the session waits for no match any more.
	QueueExpired struct {
		RoomType string `json:"room_type"`
		Size     int    `json:"size"`
		Reason   string `json:"reason"`
	}
	// Unknown is an event without a type of its own.
	Unknown struct {
		Type, Room string
		Body       json.RawMessage
	}
)

func (Connected) isEvent()      {}
func (Disconnected) isEvent()   {}
func (Ended) isEvent()          {}
func (Message) isEvent()        {}
func (Joined) isEvent()         {}
func (Dropped) isEvent()        {}
func (Reconnected) isEvent()    {}
func (Left) isEvent()           {}
func (MembersChanged) isEvent() {}
func (StateChanged) isEvent()   {}
func (Invited) isEvent()        {}
func (MatchFound) isEvent()     {}
func (MatchPending) isEvent()   {}
func (QueueExpired) isEvent()   {}
func (Unknown) isEvent()        {}
