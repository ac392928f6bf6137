package lobby

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

const (
	maxName        = 64 // bytes
	maxPlayer      = 255
	maxSaid        = 4 << 10
	maxInvitations = 64 // that are open in one room
)

// group is what lobbies and parties have in common: an owner, whom the member with the longest stay follows,
// invitations, and a place in the queue for all members together.
type group struct {
	types *Types   // whose profiles have their own sizes
	kinds []string // of messages that it knows
}

// card is a member in the state of a group. A party has no teams and no readiness.
type card struct {
	Name  string          `json:"name"`
	Team  json.RawMessage `json:"team,omitempty"`
	Ready *bool           `json:"ready,omitempty"`
	Away  bool            `json:"away"`
	Data  json.RawMessage `json:"data,omitempty"` // what the client shows of its player
}

func (r *Room) card(session string) (c card) {
	_ = json.Unmarshal(r.State[memberKey(session)], &c)
	return c
}

func (r *Room) setCard(session string, c card) { r.Set(memberKey(session), c) }

func (group) oncePerPlayer() {}

// succeed gives a session the card of its player's other session, with the team and the readiness, and the ownership if
// that had it. The members keep their place in the queue.
func (group) succeed(r *Room, old, m Member, o Options) error {
	name, err := o.fields().displayName()
	if err != nil {
		return err
	}
	c := r.card(old.Session)
	if c.Away = false; name != "" {
		c.Name = name
	}
	if raw := o.fields().raw("data"); raw != nil {
		if c.Data, err = memberData(r, "options.data", raw); err != nil {
			return err
		}
	}
	r.Delete(memberKey(old.Session))
	r.setCard(m.Session, c)
	if r.text("owner") == old.Session {
		r.Set("owner", m.Session)
	}
	// The ticket in the queue names the session that is left: the transaction gives it to the new one.
	if r.text("phase") == phaseQueued {
		r.Effects = append(r.Effects,
			Effect{Kind: EffectSucceed, Player: m.Player, From: old.Session, Session: m.Session})
	}
	return nil
}

func (group) Open(Opening) (State, error) { return State{"phase": encode(phaseOpen)}, nil }

// join gives a new member its card. Its arrival takes the members out of the queue.
func (group) join(r *Room, m Member, o Options, c card) error {
	name, err := o.fields().displayName()
	if err != nil {
		return err
	}
	if c.Name = name; name == "" {
		c.Name = nameOf(m)
	}
	if c.Data, err = memberData(r, "options.data", o.fields().raw("data")); err != nil {
		return err
	}
	r.setCard(m.Session, c)
	ensureOwner(r)
	// The ticket is for the members of before: without the newcomer it must not be matched.
	takeBack(r)
	return nil
}

func (group) Leave(r *Room, _ Member) error {
	ensureOwner(r)
	takeBack(r)
	return nil
}

// Away ends a countdown. In the queue, the tickets of an absent member are paused.
func (group) Away(r *Room, m Member) error {
	c := r.card(m.Session)
	c.Away = true
	r.setCard(m.Session, c)
	if r.text("phase") == phaseCountdown {
		takeBack(r)
	}
	return nil
}

func (group) Back(r *Room, m Member) error {
	c := r.card(m.Session)
	c.Away = false
	r.setCard(m.Session, c)
	return nil
}

// ensureOwner makes the member with the longest stay the owner if the owner is none of the members.
func ensureOwner(r *Room) {
	if _, ok := r.Member(r.text("owner")); ok || len(r.Members) == 0 {
		return
	}
	r.Set("owner", r.Members[0].Session)
}

// message handles the messages that lobbies and parties have in common.
func (g group) message(r *Room, m Member, msg Message, f fields) error {
	switch msg.Type {
	case MessageSay:
		return say(r, msg, f)
	case "invite":
		return invite(r, m, f)
	case "lock":
		return byOwner(r, m, f, lock)
	case "kick":
		return byOwner(r, m, f, g.kick)
	case "owner":
		return byOwner(r, m, f, handOver)
	case "member":
		return setMemberData(r, m, f)
	case "cancel":
		return cancel(r)
	}
	if strings.HasPrefix(msg.Type, customMessage) {
		return relayCustom(r, msg)
	}
	return unknownMessage(g.kinds)
}

// unknownMessage is the error of a message that a type of room does not know.
func unknownMessage(kinds []string) *Error {
	return Invalid("type", "must be one of %s", strings.Join(kinds, ", "))
}

// fieldsOfMessage reads the data of a message, which lobbies and parties want to be an object.
func (g group) fieldsOfMessage(m Message) (fields, error) {
	if m.Bytes {
		return fields{}, unknownMessage(g.kinds)
	}
	return fieldsOf("data", m.Data)
}

// byOwner is a message that only the owner may send.
func byOwner(r *Room, m Member, f fields, act func(*Room, Member, fields) error) error {
	if r.text("owner") != m.Session {
		return ErrNotOwner
	}
	return act(r, m, f)
}

// cancel takes the members out of the queue, and says if that comes too late.
func cancel(r *Room) error {
	if r.text("phase") == phaseMatched {
		return ErrMatched
	}
	if r.text("phase") == phaseQueued {
		r.Effects = append(r.Effects, Effect{Kind: EffectDequeue, Reason: ReasonCancel})
	}
	reopen(r)
	return nil
}

func say(r *Room, msg Message, f fields) error {
	var text string
	if json.Unmarshal(f.raw("text"), &text) != nil || text == "" || len(text) > maxSaid {
		return Invalid("text", "must be a string of 1 to %d bytes", maxSaid)
	}
	msg.Data = encode(map[string]string{"text": text})
	r.Relay(msg)
	return nil
}

func invite(r *Room, m Member, f fields) error {
	name, err := f.required("player", maxPlayer)
	if err != nil {
		return err
	}
	switch {
	case slices.ContainsFunc(r.Members, func(o Member) bool { return o.Player == name }):
		return nil
	case r.IsLocked && r.text("owner") != m.Session: // an invitation opens the lock, which is the owner's
		return ErrLocked
	case len(r.Members) >= r.MaxMembers:
		return ErrFull
	case openInvitations(r, name) >= maxInvitations:
		return Invalid("player", "cannot be invited while %d invitations are open", maxInvitations)
	}
	r.Invite(name, m)
	return nil
}

// openInvitations counts the other players that are invited. Those of this transaction are in Invited only afterwards.
func openInvitations(r *Room, but string) int {
	players := map[string]bool{}
	for _, m := range r.Invited {
		players[m.Player] = true
	}
	for _, e := range r.Effects {
		if e.Kind == EffectInvite {
			players[e.Player] = true
		}
	}
	delete(players, but)
	return len(players)
}

func lock(r *Room, _ Member, f fields) error {
	locked, err := f.flag("locked", true)
	if err != nil {
		return err
	}
	r.IsLocked = locked
	r.Set("locked", locked)
	return nil
}

func (g group) kick(r *Room, m Member, f fields) error {
	session, err := otherMember(r, m, f)
	if err != nil {
		return err
	}
	ban, err := f.flag("ban", false)
	if err != nil {
		return err
	}
	// It is there: otherMember has found it.
	kicked, _ := r.Remove(session, "kicked")
	if ban {
		if err := r.sanction(Sanction{Player: kicked.Player, IsBan: true}, time.Time{}); err != nil {
			return err
		}
	}
	return g.Leave(r, kicked)
}

func handOver(r *Room, m Member, f fields) error {
	session, err := otherMember(r, m, f)
	if err != nil {
		return err
	}
	r.Set("owner", session)
	return nil
}

// otherMember reads which member a message of the owner is about.
func otherMember(r *Room, m Member, f fields) (string, error) {
	session, err := f.required("session", maxIDBytes)
	if err != nil {
		return "", err
	}
	if _, ok := r.Member(session); !ok || session == m.Session {
		return "", Invalid("session", "must be that of another member")
	}
	return session, nil
}
