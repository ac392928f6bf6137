package lobby

import "encoding/json"

// Phases of the rooms of matches.
const (
	phaseReady = "ready"
	phaseEnded = "ended"
)

// Server is where the members of a match play.
type Server struct {
	Endpoint      string `json:"endpoint"`
	SessionID     string `json:"session_id,omitempty"`
	SessionHandle string `json:"session_handle,omitempty"`
	Region        string `json:"region,omitempty"`
	Mode          string `json:"mode,omitempty"`
}

// Matched is a match for which a room is to be made.
type Matched struct {
	Project, ID, Type string
	MatchID           string
	Profile           string
	AskedSize         int      // players that its tickets asked for
	Participants      []Member // in the order of the queue
	Seats             []string // SeatPlayer of each of Participants, see [Place]; nil: the player of each
	GameServer        *Server  // nil: the match has none
}

// MatchRoom returns the room of a match, in which its participants are invited. Each call of the result returns a new,
// equal room.
func (t *Types) MatchRoom(m Matched) func() *Room {
	return func() *Room {
		typ := t.matchType(m.Type)
		r := &Room{
			Project: m.Project, ID: m.ID, Type: m.Type, IsNew: true, StateSeq: 1,
			// Participants are not nil even if there are none: nil means that no match made the room.
			MaxMembers: len(m.Participants), GracePeriod: typ.GracePeriod, IsPrivate: true, Participants: []string{},
		}
		for i, p := range m.Participants {
			place := Place{Player: p.Player, SeatPlayer: p.Player}
			// In a match of a bucket the ticket names sessions, and the game server keeps the seats for these.
			if m.Seats != nil {
				place.SeatPlayer = m.Seats[i]
			}
			r.InvitedMembers = append(r.InvitedMembers, Member{Session: p.Session, Player: p.Player})
			r.Participants, r.Places = append(r.Participants, p.Session), append(r.Places, place)
		}
		r.State, _ = typ.roomLogic.OpenState(Opening{Type: typ}) // without options, no logic refuses
		if logic, ok := typ.roomLogic.(matchLogic); ok {
			logic.setMatchState(r, m)
		}
		return r
	}
}

// EndMatch returns the action by which a match ends. It changes nothing for other rooms, and nothing the second time.
func (t *Types) EndMatch() Action {
	return atomicAction(func(r *Room) error {
		// Another logic, such as chat, owns the state of its rooms: the director sets no key there.
		if _, ok := t.logicOf(r).(matchLogic); ok && r.textOf("phase") != phaseEnded {
			r.SetKey("phase", phaseEnded)
		}
		return nil
	})
}

// ResolveServer returns the action by which a member asks for the session handle of the match's server, and for the
// player for whom the seat is, "" if an earlier release made the room. Both are in the CallerAnswer; the room stays as
// it is. Errors: [ErrNotMember], [ErrNoServer].
func (t *Types) ResolveServer(session string) Action {
	return atomicAction(func(r *Room) error {
		if _, ok := r.Member(session); !ok {
			return ErrNotMember
		}
		var server Server
		if _, ok := t.logicOf(r).(matchLogic); ok {
			_ = json.Unmarshal(r.State["server"], &server)
		}
		if server.SessionHandle == "" {
			return ErrNoServer
		}
		r.CallerAnswer = map[string]any{"session_handle": server.SessionHandle, "seat": r.seatOf(session)}
		return nil
	})
}

// matchLogic is the room of a match. The director makes it and invites the participants; it relays what they send.
type matchLogic struct{}

// matchCard is a member in the state of the room of a match.
type matchCard struct {
	Player string `json:"player,omitempty"` // see nameOf
	Name   string `json:"name,omitempty"`
	Away   bool   `json:"away"`
}

func (matchLogic) OpenState(Opening) (State, error) {
	return State{"phase": encodeJSON(phaseReady)}, nil
}

func (matchLogic) setMatchState(r *Room, m Matched) {
	r.SetKey("match", struct {
		ID       string `json:"id"`
		Profile  string `json:"profile,omitempty"`
		RoomType string `json:"room_type"`
		Size     int    `json:"size"`
	}{m.MatchID, m.Profile, m.Type, m.AskedSize})
	if m.GameServer != nil {
		r.SetKey("server", m.GameServer)
	}
}

func (matchLogic) OnJoin(r *Room, m Member, o Options) error {
	name, err := o.fieldsOf().displayName()
	if err != nil {
		return err
	}
	r.SetKey(memberKey(m.Session), matchCard{Player: nameOf(m), Name: name})
	return nil
}

// succeedMember gives a session the card of its player's other session.
func (matchLogic) succeedMember(r *Room, old, m Member, o Options) error {
	name, err := o.fieldsOf().displayName()
	if err != nil {
		return err
	}
	var p matchCard
	_ = json.Unmarshal(r.State[memberKey(old.Session)], &p)
	p.Away = false
	// A game that was restarted may join without the name that its player chose before.
	if name != "" {
		p.Name = name
	}
	r.DeleteKey(memberKey(old.Session))
	r.SetKey(memberKey(m.Session), p)
	return nil
}

// OnLeave changes nothing: takeMember has deleted the member's key, and the match continues without the member.
func (matchLogic) OnLeave(*Room, Member) error { return nil }

func (matchLogic) OnAway(r *Room, m Member) error {
	notePresence(r, m)
	return nil
}

func (matchLogic) OnBack(r *Room, m Member) error {
	notePresence(r, m)
	return nil
}

// notePresence shows in the state whether a member has a socket.
func notePresence(r *Room, m Member) {
	var p matchCard
	_ = json.Unmarshal(r.State[memberKey(m.Session)], &p)
	p.Away = m.IsAway
	r.SetKey(memberKey(m.Session), p)
}

func (matchLogic) OnMessage(r *Room, _ Member, m Message) error {
	r.RelayMessage(m)
	return nil
}

// nameOf returns the id of the player, or "" for a client without one, whose Player is the id of its session.
func nameOf(m Member) string {
	if m.Player == m.Session {
		return ""
	}
	return m.Player
}
