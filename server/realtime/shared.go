package realtime

import (
	"sync"
	"time"
)

// shared is a frame for several clients, which is encoded once per codec. Safe for concurrent use.
type shared struct {
	json, msgpack func() []byte

	decided time.Time // of a change of a room, by the database's clock; zero for anything else
}

// newShared returns the frame of a message, which must not change any more.
func newShared(out outgoing) *shared {
	return &shared{
		json:    sync.OnceValue(func() []byte { return jsonCodec{}.Encode(out) }),
		msgpack: sync.OnceValue(func() []byte { return msgpackCodec{}.Encode(out) }),
	}
}

// frame returns the frame in a codec. Callers must not change it.
func (s *shared) frame(c codec) []byte {
	if c.Binary() {
		return s.msgpack()
	}
	return s.json()
}
