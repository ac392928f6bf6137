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
