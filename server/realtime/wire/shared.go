package wire

import (
	"sync"
	"time"
)

// SharedFrame is a frame for several clients, which is encoded once per codec. Safe for concurrent use.
type SharedFrame struct {
	json, msgpack func() []byte

	DecidedAt time.Time // of a change of a room, by the database's clock; zero for anything else
}

// NewSharedFrame returns the frame of a message, which must not change any more.
func NewSharedFrame(out Outgoing) *SharedFrame {
	return &SharedFrame{
		json:    sync.OnceValue(func() []byte { return JSONCodec{}.Encode(out) }),
		msgpack: sync.OnceValue(func() []byte { return msgpackCodec{}.Encode(out) }),
	}
}

// Encoded returns the frame in a codec. Callers must not change it.
func (s *SharedFrame) Encoded(c Codec) []byte {
	if c.Binary() {
		return s.msgpack()
	}
	return s.json()
}
