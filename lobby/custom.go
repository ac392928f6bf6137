package lobby

import "encoding/json"

// customPrefix begins the types of the messages that lobbies and parties relay without a meaning of their own. Types
// without it are free for later releases.
const customPrefix = "x."

const (
	maxCustom     = 4 << 10 // bytes of the data of a custom message
	maxMemberData = 1 << 10 // bytes of a member
	// maxAllData is what all members of a room may have together, so that a full room has space for the rest of its
	// state.
	maxAllData = 32 << 10
)

func relayCustom(r *Room, msg Message) error {
	if len(msg.Data) > maxCustom {
		return ErrTooLarge
	}
	r.RelayMessage(msg)
	return nil
}

// setMemberData changes what the clients show of a member, such as its character; null removes it.
func setMemberData(r *Room, m Member, f fields) (err error) {
	c := r.cardOf(m.Session)
	if c.Data, err = memberData(r, "data", f.rawField("data")); err != nil {
		return err
	}
	r.setCard(m.Session, c)
	return nil
}

// memberData checks what a member wants shown of itself; nil stays nil.
func memberData(r *Room, field string, raw json.RawMessage) (json.RawMessage, error) {
	if raw == nil {
		return nil, nil
	}
	cleaned, err := cleanJSON(field, raw)
	if err != nil {
		return nil, err
	}
	// An equal share for each member that the room may have.
	most := min(maxMemberData, maxAllData/max(1, r.MaxMembers))
	if cleaned[0] != '{' || len(cleaned) > most {
		return nil, Invalid(field, "must be an object of at most %d bytes", most)
	}
	return cleaned, nil
}
