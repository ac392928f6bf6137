package lobby

import (
	"bytes"
	"encoding/json"
	"slices"
)

// ForgetPlayer returns the action by which a room forgets a player whose sessions have left it: sanctions and
// invitations end, and key replaces the player's id where it is a text or a name in the state or the metadata. What
// members have written about the player in other words stays.
func (t *Types) ForgetPlayer(player, key string) Action {
	return atomicAction(func(r *Room) error {
		isOf := func(m Member) bool { return m.Player == player }
		r.InvitedMembers = slices.DeleteFunc(slices.Clone(r.InvitedMembers), isOf)
		r.Sanctions = slices.DeleteFunc(slices.Clone(r.Sanctions), func(s Sanction) bool { return s.Player == player })
		for name, value := range r.State {
			// A client may have made keys of players' names.
			if name == player {
				delete(r.State, name)
				name = key
			}
			r.State[name] = withKey(value, player, key)
		}
		r.Metadata = withKey(r.Metadata, player, key)
		return nil
	})
}

// withKey returns JSON in which key replaces texts that are the player's id. It does not decode the value, because
// clients have checksums of its numbers and the order of its names.
func withKey(value json.RawMessage, player, key string) json.RawMessage {
	escaped, _ := json.Marshal(player) // a text always encodes
	var plain bytes.Buffer
	out := json.NewEncoder(&plain)
	out.SetEscapeHTML(false)
	_ = out.Encode(player)
	replacement, _ := json.Marshal(key)
	// Both ways in which JSON may write the id: with < > & escaped, as encoding/json does, and without.
	value = bytes.ReplaceAll(value, escaped, replacement)
	return bytes.ReplaceAll(value, bytes.TrimSuffix(plain.Bytes(), []byte{'\n'}), replacement)
}
