package wire

// Codec decodes the frames of clients and encodes those for them. There are two, JSON and MessagePack; both are
// stateless and safe for concurrent use.
type Codec interface {
	Name() string // as handshake.ok names it
	Binary() bool // whether encoded frames are binary messages

	// Decode reads a frame of a client. An error is a *FrameError.
	Decode(frame []byte) (Envelope, error)

	// Encode writes a frame.
	Encode(out Outgoing) []byte
}
