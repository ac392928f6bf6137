package realtime

// codec turns frames into envelopes and back. Both are stateless and safe for concurrent use.
type codec interface {
	Name() string // as handshake.ok names it
	Binary() bool // whether frames out are binary messages

	// Decode reads a frame of a client. An error is a *frameError.
	Decode(frame []byte) (envelope, error)

	// Encode writes a frame.
	Encode(out outgoing) []byte
}

// outgoing is a message to a client. Its P is whatever esjson.Append accepts; nil: none. Empty fields are left out.
type outgoing struct {
	Type, RID, Room string
	P               any
}

// negotiate returns the codec that the director prefers of those that a client offers, or nil.
func negotiate(offered []string) codec {
	var chosen codec
	for _, name := range offered {
		switch name {
		case msgpackCodec{}.Name():
			return msgpackCodec{}
		case jsonCodec{}.Name():
			chosen = jsonCodec{}
		}
	}
	return chosen
}
