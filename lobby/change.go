package lobby

import (
	"encoding/json"
	"slices"

	"github.com/lattice-director/director/lobby/esjson"
)

// SetKey sets a key of the state, which must not be empty. The value must be one that encodes as JSON.
func (r *Room) SetKey(key string, value any) {
	if r.State == nil {
		r.State = State{}
	}
	r.State[key] = encodeJSON(value)
}

// DeleteKey deletes a key of the state.
func (r *Room) DeleteKey(key string) { delete(r.State, key) }

// TellMembers sends a message of the room itself to its members.
func (r *Room) TellMembers(kind string, data any) {
	r.Entries = append(r.Entries, Entry{Kind: EntryMessage, Type: kind, Data: encodeJSON(data)})
}

// RelayMessage sends a member's message to all members, itself included.
func (r *Room) RelayMessage(m Message) {
	kind := EntryMessage
	if m.IsBytes {
		kind = EntryBytes
	}
	e := Entry{Kind: kind, Session: m.Session, Type: m.Type, Data: m.Data}
	r.rememberMessage(&e, m)
	r.Entries = append(r.Entries, e)
}

// Member returns the member that has joined with the session.
func (r *Room) Member(session string) (Member, bool) { return findMember(r.Members, session) }

// RemoveMember takes a member out of the room for a reason that all members receive. The caller, a [Logic], then does
// what it does in OnLeave.
func (r *Room) RemoveMember(session, reason string) (Member, bool) {
	m, ok := r.takeMember(session)
	if ok {
		r.Entries = append(r.Entries, Entry{Kind: EntryLeft, Session: session, Reason: reason})
		r.Effects = append(r.Effects, Effect{Kind: EffectRemove, Session: session, Player: m.Player, Reason: reason})
	}
	return m, ok
}

// InvitePlayer invites a player, whichever session it has, in the name of a member.
func (r *Room) InvitePlayer(player string, by Member) {
	r.Effects = append(r.Effects,
		Effect{Kind: EffectInvite, Player: player, Session: by.Session, Inviter: by.Player})
}

// EnqueueMembers puts the members into a queue, together.
func (r *Room) EnqueueMembers(q Queue) {
	r.Effects = append(r.Effects, Effect{Kind: EffectEnqueue, Queue: q})
}

// DequeueMembers takes the members out of the queue.
func (r *Room) DequeueMembers() { r.Effects = append(r.Effects, Effect{Kind: EffectDequeue}) }

// addMember makes a session a member; the invitations of its player are used up.
func (r *Room) addMember(session, player string) Member {
	r.JoinCount++
	m := Member{Session: session, Player: player, JoinOrder: r.JoinCount}
	r.endInvitations(session, player)
	// Clipped, so that append copies: the room of before an action that fails must keep its members.
	r.Members = append(slices.Clip(r.Members), m)
	r.Entries = append(r.Entries, Entry{Kind: EntryJoined, Session: session})
	return m
}

// endInvitations ends the invitations of a session and of its player, and reports whether there was one. In a match,
// each session has its own.
func (r *Room) endInvitations(session, player string) bool {
	open := func(m Member) bool { return m.Session == session || r.Participants == nil && m.Player == player }
	if !slices.ContainsFunc(r.InvitedMembers, open) {
		return false
	}
	// A copy: if the action fails, the room from before it is restored, which shares this list.
	r.InvitedMembers = slices.DeleteFunc(slices.Clone(r.InvitedMembers), open)
	return true
}

// takeMember removes a member, and its key of the state.
func (r *Room) takeMember(session string) (Member, bool) {
	m, ok := r.Member(session)
	if ok {
		r.Members = withoutMember(r.Members, session)
		r.DeleteKey(memberKey(session))
	}
	return m, ok
}

// setAway notes whether a member's socket is gone, and returns the member.
func (r *Room) setAway(session string, away bool) (m Member, changed, ok bool) {
	at := slices.IndexFunc(r.Members, func(m Member) bool { return m.Session == session })
	if at < 0 {
		return Member{}, false, false
	}
	changed = r.Members[at].IsAway != away
	if changed {
		r.Members = slices.Clone(r.Members) // see addMember
		r.Members[at].IsAway = away
	}
	return r.Members[at], changed, true
}

// textOf returns a key of the state that is a string, else "".
func (r *Room) textOf(key string) string {
	var s string
	_ = json.Unmarshal(r.State[key], &s)
	return s
}

// memberKey is the key of the state that is a member's own: a change of one member is a patch of that member alone.
func memberKey(session string) string { return "m:" + session }

func findMember(members []Member, session string) (Member, bool) {
	at := slices.IndexFunc(members, func(m Member) bool { return m.Session == session })
	if at < 0 {
		return Member{}, false
	}
	return members[at], true
}

// withoutMember returns a new list: the room of before an action that fails shares the old one.
func withoutMember(members []Member, session string) []Member {
	left := make([]Member, 0, len(members))
	for _, m := range members {
		if m.Session != session {
			left = append(left, m)
		}
	}
	return left
}

// encodeJSON encodes what this package makes: values that encoding/json accepts. Equal values have equal bytes.
func encodeJSON(value any) json.RawMessage {
	raw, is := value.(json.RawMessage)
	if !is {
		raw = esjson.Encode(value)
	}
	// Once more for raw JSON, whose keys may be in any order: a state that is equal must not be a patch.
	decoded, _ := esjson.ParseText(raw)
	return esjson.Append(nil, decoded)
}

// cleanJSON decodes what a client sent and encodes it as [encodeJSON] does: numbers are those of JavaScript, lone
// surrogates are U+FFFD, and no key appears twice. Nothing is null.
func cleanJSON(field string, raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return json.RawMessage("null"), nil
	}
	value, err := esjson.ParseText(raw)
	if err != nil {
		return nil, Invalid(field, "must be JSON")
	}
	return esjson.Append(nil, value), nil
}
