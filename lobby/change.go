package lobby

import "encoding/json"

// SetKey sets a key of the state; key must not be empty, and value must encode as JSON.
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

// textOf returns a key of the state that is a string, else "".
func (r *Room) textOf(key string) string {
	var s string
	_ = json.Unmarshal(r.State[key], &s)
	return s
}
