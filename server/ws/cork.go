package ws

import (
	"bytes"
	"net"
	"sync"
)

// corkBytes is how much a cork holds before it writes.
const corkBytes = 16 << 10

// corkBuffers are the buffers of corks. An idle connection has none.
var corkBuffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// cork is the writing side of a connection. Between hold and flush it collects frames, so that a burst of small frames
// is one system call, and one record of TLS. Safe for concurrent use.
type cork struct {
	net.Conn

	mu     sync.Mutex
	buffer *bytes.Buffer // nil: frames are written at once
}

// hold collects frames until flush.
func (k *cork) hold() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.buffer == nil {
		k.buffer = corkBuffers.Get().(*bytes.Buffer)
		k.buffer.Reset()
	}
}

// Write implements io.Writer.
func (k *cork) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.buffer == nil {
		return k.Conn.Write(p)
	}
	// Written at the bound, so that a long burst takes no more memory than a short one.
	if k.buffer.Len()+len(p) > corkBytes {
		if err := k.write(); err != nil {
			return 0, err
		}
	}
	return k.buffer.Write(p)
}

// flush writes what was collected. Later frames are written at once.
func (k *cork) flush() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.buffer == nil {
		return nil
	}
	err := k.write()
	if k.buffer.Cap() <= 2*corkBytes { // a frame may be longer than what a cork holds
		corkBuffers.Put(k.buffer)
	}
	k.buffer = nil
	return err
}

func (k *cork) write() error {
	if k.buffer.Len() == 0 {
		return nil
	}
	_, err := k.Conn.Write(k.buffer.Bytes())
	k.buffer.Reset()
	return err
}
