package wire

// Codec turns frames into envelopes and back. Both are stateless and safe for concurrent use.
type Codec interface {
	Name() string // as handshake.ok names it
	Binary() bool // whether frames out are binary messages

	// Decode reads a frame of a client. An error is a *FrameError.
	Decode(frame []byte) (Envelope, error)

	// Encode writes a frame.
	Encode(out Outgoing) []byte
}

// Outgoing is a message to a client. Its P is whatever esjson.Append accepts; nil: none. Empty fields are left out.
type Outgoing struct {
	Type, RID, Room string
	P               any
}

// NegotiateCodec returns the codec that the director prefers of those that a client offers, or nil.
func NegotiateCodec(offered []string) Codec {
	var chosen Codec
	for _, name := range offered {
		switch name {
		case msgpackCodec{}.Name():
			return msgpackCodec{}
		case JSONCodec{}.Name():
			chosen = JSONCodec{}
		}
	}
	return chosen
}
