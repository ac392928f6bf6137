package lobby

import (
	"encoding/json"
	"slices"

	"github.com/lattice-director/director/lobby/esjson"
)

// Set sets a key of the state, which must not be empty. The value must be one that encodes as JSON.
func (r *Room) Set(key string, value any) {
	if r.State == nil {
		r.State = State{}
	}
	r.State[key] = encode(value)
}

// Delete deletes a key of the state.
func (r *Room) Delete(key string) { delete(r.State, key) }

// Tell sends a message of the room itself to its members.
func (r *Room) Tell(kind string, data any) {
	r.Entries = append(r.Entries, Entry{Kind: EntryMessage, Type: kind, Data: encode(data)})
}

// Relay sends a member's message to all members, itself included.
func (r *Room) Relay(m Message) {
	kind := EntryMessage
	if m.Bytes {
		kind = EntryBytes
	}
	e := Entry{Kind: kind, Session: m.Session, Type: m.Type, Data: m.Data}
	r.remember(&e, m)
	r.Entries = append(r.Entries, e)
}

// Member returns the member that has joined with the session.
func (r *Room) Member(session string) (Member, bool) { return find(r.Members, session) }

// Remove takes a member out of the room for a reason that all members receive. The caller, a [Logic], then does what it
// does in Leave.
func (r *Room) Remove(session, reason string) (Member, bool) {
	m, ok := r.take(session)
	if ok {
		r.Entries = append(r.Entries, Entry{Kind: EntryLeft, Session: session, Reason: reason})
		r.Effects = append(r.Effects, Effect{Kind: EffectRemove, Session: session, Player: m.Player, Reason: reason})
	}
	return m, ok
}

// Invite invites a player, whichever session it has, in the name of a member.
func (r *Room) Invite(player string, by Member) {
	r.Effects = append(r.Effects,
		Effect{Kind: EffectInvite, Player: player, Session: by.Session, Inviter: by.Player})
}

// Enqueue puts the members into a queue, together.
func (r *Room) Enqueue(q Queue) { r.Effects = append(r.Effects, Effect{Kind: EffectEnqueue, Queue: q}) }

// Dequeue takes the members out of the queue.
func (r *Room) Dequeue() { r.Effects = append(r.Effects, Effect{Kind: EffectDequeue}) }

// add makes a session a member; the invitations of its player are used up.
func (r *Room) add(session, player string) Member {
	r.Joins++
	m := Member{Session: session, Player: player, Order: r.Joins}
	r.answer(session, player)
	// Clipped, so that append copies: the room of before an action that fails must keep its members.
	r.Members = append(slices.Clip(r.Members), m)
	r.Entries = append(r.Entries, Entry{Kind: EntryJoined, Session: session})
	return m
}

// answer ends the invitations of a session and of its player, and reports whether there was one. In a match, each
// session has its own.
func (r *Room) answer(session, player string) bool {
	open := func(m Member) bool { return m.Session == session || r.Participants == nil && m.Player == player }
	if !slices.ContainsFunc(r.Invited, open) {
		return false
	}
	r.Invited = slices.DeleteFunc(slices.Clone(r.Invited), open)
	return true
}

// take removes a member, and its key of the state.
func (r *Room) take(session string) (Member, bool) {
	m, ok := r.Member(session)
	if ok {
		r.Members = without(r.Members, session)
		r.Delete(memberKey(session))
	}
	return m, ok
}

// setAway notes whether a member's socket is gone, and returns the member.
func (r *Room) setAway(session string, away bool) (m Member, changed, ok bool) {
	at := slices.IndexFunc(r.Members, func(m Member) bool { return m.Session == session })
	if at < 0 {
		return Member{}, false, false
	}
	changed = r.Members[at].Away != away
	if changed {
		r.Members = slices.Clone(r.Members)
		r.Members[at].Away = away
	}
	return r.Members[at], changed, true
}

// text returns a key of the state that is a string, else "".
func (r *Room) text(key string) string {
	var s string
	_ = json.Unmarshal(r.State[key], &s)
	return s
}

// memberKey is the key of the state that is a member's own: a change of one member is a patch of that member alone.
func memberKey(session string) string { return "m:" + session }

func find(members []Member, session string) (Member, bool) {
	at := slices.IndexFunc(members, func(m Member) bool { return m.Session == session })
	if at < 0 {
		return Member{}, false
	}
	return members[at], true
}

func without(members []Member, session string) []Member {
	left := make([]Member, 0, len(members))
	for _, m := range members {
		if m.Session != session {
			left = append(left, m)
		}
	}
	return left
}

// encode encodes what this package makes: values that encoding/json accepts. Equal values have equal bytes.
func encode(value any) json.RawMessage {
	raw, is := value.(json.RawMessage)
	if !is {
		raw = esjson.Encode(value)
	}
	decoded, _ := esjson.Parse(raw)
	return esjson.Append(nil, decoded)
}

// clean decodes what a client sent and encodes it as [encode] does: numbers are those of JavaScript, lone surrogates
// are U+FFFD, and no key appears twice. Nothing is null.
func clean(field string, raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return json.RawMessage("null"), nil
	}
	value, err := esjson.Parse(raw)
	if err != nil {
		return nil, Invalid(field, "must be JSON")
	}
	return esjson.Append(nil, value), nil
}
