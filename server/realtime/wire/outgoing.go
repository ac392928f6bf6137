package wire

// Outgoing is a message to a client. Its P is whatever esjson.Append accepts; nil: none. Empty fields are left out.
type Outgoing struct {
	Type, RID, Room string
	P               any
}
