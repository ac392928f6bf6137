package lobby

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

const (
	maxSaid        = 4 << 10 // bytes of a line of chat
	maxInvitations = 64      // open at once in a room
)

// group is what lobbies and parties have in common: an owner, whom the member that joined first succeeds, invitations,
// and a place in the queue for all members together.
type group struct {
	roomTypes    *Types   // to find out which types have a profile, which has sizes of its own
	messageKinds []string // types of messages that it accepts, for the error of any other
}

// card is a member in the state of a group. A party has no teams and no readiness.
type card struct {
	Name  string          `json:"name"`
	Team  json.RawMessage `json:"team,omitempty"`
	Ready *bool           `json:"ready,omitempty"`
	Away  bool            `json:"away"`
	Data  json.RawMessage `json:"data,omitempty"` // what the client shows of its player
}

func (r *Room) cardOf(session string) (c card) {
	_ = json.Unmarshal(r.State[memberKey(session)], &c)
	return c
}

func (r *Room) setCard(session string, c card) { r.SetKey(memberKey(session), c) }

func (group) admitsPlayerOnce() {}

// succeedMember gives a session the card of its player's other session, with the team and the readiness, and the
// ownership if the other session was the owner. The members keep their place in the queue.
func (group) succeedMember(r *Room, old, m Member, o Options) error {
	name, err := o.fieldsOf().displayName()
	if err != nil {
		return err
	}
	c := r.cardOf(old.Session)
	c.Away = false
	// A game that was restarted may join without the name that its player chose before.
	if name != "" {
		c.Name = name
	}
	if raw := o.fieldsOf().rawField("data"); raw != nil {
		if c.Data, err = memberData(r, "options.data", raw); err != nil {
			return err
		}
	}
	r.DeleteKey(memberKey(old.Session))
	r.setCard(m.Session, c)
	if r.textOf("owner") == old.Session {
		r.SetKey("owner", m.Session)
	}
	// The ticket in the queue names the session that is left: the transaction gives it to the new one.
	if r.textOf("phase") == phaseQueued {
		r.Effects = append(r.Effects,
			Effect{Kind: EffectSucceed, Player: m.Player, FromSession: old.Session, Session: m.Session})
	}
	return nil
}

func (group) OpenState(Opening) (State, error) { return State{"phase": encodeJSON(phaseOpen)}, nil }

// addCard gives a new member its card. Its arrival takes the members out of the queue.
func (group) addCard(r *Room, m Member, o Options, c card) error {
	name, err := o.fieldsOf().displayName()
	if err != nil {
		return err
	}
	c.Name = name
	if name == "" {
		c.Name = nameOf(m)
	}
	if c.Data, err = memberData(r, "options.data", o.fieldsOf().rawField("data")); err != nil {
		return err
	}
	r.setCard(m.Session, c)
	ensureOwner(r)
	// The ticket is for the members of before: without the newcomer it must not be matched.
	dequeueAndReopen(r)
	return nil
}

func (group) OnLeave(r *Room, _ Member) error {
	ensureOwner(r)
	dequeueAndReopen(r)
	return nil
}

// OnAway ends a countdown. In the queue, the tickets of an absent member are paused.
func (group) OnAway(r *Room, m Member) error {
	c := r.cardOf(m.Session)
	c.Away = true
	r.setCard(m.Session, c)
	// The start that the countdown announces would be refused: all members must be connected.
	if r.textOf("phase") == phaseCountdown {
		dequeueAndReopen(r)
	}
	return nil
}

func (group) OnBack(r *Room, m Member) error {
	c := r.cardOf(m.Session)
	c.Away = false
	r.setCard(m.Session, c)
	return nil
}

// ensureOwner makes the member that joined first the owner if the owner is none of the members.
func ensureOwner(r *Room) {
	if _, ok := r.Member(r.textOf("owner")); ok || len(r.Members) == 0 {
		return
	}
	// Members are in the order in which they joined.
	r.SetKey("owner", r.Members[0].Session)
}

// handleCommon handles the messages that lobbies and parties have in common.
func (g group) handleCommon(r *Room, m Member, msg Message, f fields) error {
	switch msg.Type {
	case MessageSay:
		return relaySaying(r, msg, f)
	case "invite":
		return invitePlayer(r, m, f)
	case "lock":
		return byOwner(r, m, f, lockRoom)
	case "kick":
		return byOwner(r, m, f, g.kickMember)
	case "owner":
		return byOwner(r, m, f, handOver)
	case "member":
		return setMemberData(r, m, f)
	case "cancel":
		return cancelQueue(r)
	}
	if strings.HasPrefix(msg.Type, customPrefix) {
		return relayCustom(r, msg)
	}
	return unknownMessageError(g.messageKinds)
}

// unknownMessageError is the error of a message that a type of room does not know.
func unknownMessageError(kinds []string) *Error {
	return Invalid("type", "must be one of %s", strings.Join(kinds, ", "))
}

// fieldsOfMessage reads the data of a message, which lobbies and parties want to be an object.
func (g group) fieldsOfMessage(m Message) (fields, error) {
	if m.IsBytes {
		return fields{}, unknownMessageError(g.messageKinds)
	}
	return readFields("data", m.Data)
}

// byOwner handles a message with act if the owner has sent it. Errors: [ErrNotOwner]; those of act.
func byOwner(r *Room, m Member, f fields, act func(*Room, Member, fields) error) error {
	if r.textOf("owner") != m.Session {
		return ErrNotOwner
	}
	return act(r, m, f)
}

// cancelQueue takes the members out of the queue at the request of one of them. Errors: [ErrMatched].
func cancelQueue(r *Room) error {
	// Success would mislead the client: the members are in a match, whose game begins.
	if r.textOf("phase") == phaseMatched {
		return ErrMatched
	}
	if r.textOf("phase") == phaseQueued {
		r.Effects = append(r.Effects, Effect{Kind: EffectDequeue, Reason: ReasonCancel})
	}
	reopenRoom(r)
	return nil
}

// relaySaying relays a line of chat to all members, the sender too.
func relaySaying(r *Room, msg Message, f fields) error {
	var text string
	if json.Unmarshal(f.rawField("text"), &text) != nil || text == "" || len(text) > maxSaid {
		return Invalid("text", "must be a string of 1 to %d bytes", maxSaid)
	}
	// Only the text, which is what members read and hooks check.
	msg.Data = encodeJSON(map[string]string{"text": text})
	r.RelayMessage(msg)
	return nil
}

// invitePlayer invites a player. It changes nothing for one that is in the room.
func invitePlayer(r *Room, m Member, f fields) error {
	invited, err := f.requiredText("player", maxPlayer)
	if err != nil {
		return err
	}
	switch {
	// A session of the player has joined already, perhaps by the code.
	case slices.ContainsFunc(r.Members, func(o Member) bool { return o.Player == invited }):
		return nil
	case r.IsLocked && r.textOf("owner") != m.Session: // an invitation opens the lock, which is the owner's
		return ErrLocked
	case len(r.Members) >= r.MaxMembers:
		return ErrFull
	case countInvitations(r, invited) >= maxInvitations:
		return Invalid("player", "cannot be invited while %d invitations are open", maxInvitations)
	}
	r.InvitePlayer(invited, m)
	return nil
}

// countInvitations returns how many players other than except are invited. Invitations of this transaction are among
// the effects and not yet in InvitedMembers.
func countInvitations(r *Room, except string) int {
	players := map[string]bool{}
	for _, m := range r.InvitedMembers {
		players[m.Player] = true
	}
	for _, e := range r.Effects {
		if e.Kind == EffectInvite {
			players[e.Player] = true
		}
	}
	delete(players, except)
	return len(players)
}

// lockRoom locks or unlocks a room, and shows the members which.
func lockRoom(r *Room, _ Member, f fields) error {
	locked, err := f.flagField("locked", true)
	if err != nil {
		return err
	}
	r.IsLocked = locked
	r.SetKey("locked", locked)
	return nil
}

// kickMember removes another member, and bans its player if the owner asks for that.
func (g group) kickMember(r *Room, m Member, f fields) error {
	session, err := otherMember(r, m, f)
	if err != nil {
		return err
	}
	ban, err := f.flagField("ban", false)
	if err != nil {
		return err
	}
	// otherMember has found the member, so RemoveMember does, too.
	kicked, _ := r.RemoveMember(session, "kicked")
	// Without an end: the owner bans from its own room, so the ban ends with the room.
	if ban {
		if err := r.addSanction(Sanction{Player: kicked.Player, IsBan: true}, time.Time{}); err != nil {
			return err
		}
	}
	return g.OnLeave(r, kicked)
}

// handOver makes another member the owner.
func handOver(r *Room, m Member, f fields) error {
	session, err := otherMember(r, m, f)
	if err != nil {
		return err
	}
	r.SetKey("owner", session)
	return nil
}

// otherMember reads the session of another member, to which a message of the owner m refers.
func otherMember(r *Room, m Member, f fields) (string, error) {
	session, err := f.requiredText("session", maxIDBytes)
	if err != nil {
		return "", err
	}
	// Nobody kicks itself: it leaves, and the ownership passes on.
	if _, ok := r.Member(session); !ok || session == m.Session {
		return "", Invalid("session", "must be that of another member")
	}
	return session, nil
}
