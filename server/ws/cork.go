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

// cork is the writing side of a connection. Between holdFrames and flushHeld it collects frames, so that a burst of
// small frames is one system call, and one record of TLS. Safe for concurrent use.
type cork struct {
	net.Conn

	mu         sync.Mutex
	heldFrames *bytes.Buffer // nil: frames are written at once
}

// holdFrames collects frames until flushHeld.
func (k *cork) holdFrames() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.heldFrames == nil {
		k.heldFrames = corkBuffers.Get().(*bytes.Buffer)
		k.heldFrames.Reset()
	}
}

// Write implements io.Writer.
func (k *cork) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.heldFrames == nil {
		return k.Conn.Write(p)
	}
	// What is held is written at the bound, so that a long burst takes no more memory than a short one.
	if k.heldFrames.Len()+len(p) > corkBytes {
		if err := k.writeHeld(); err != nil {
			return 0, err
		}
	}
	return k.heldFrames.Write(p)
}

// flushHeld writes what was collected. Later frames are written at once.
func (k *cork) flushHeld() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.heldFrames == nil {
		return nil
	}
	err := k.writeHeld()
	if k.heldFrames.Cap() <= 2*corkBytes { // a frame may be longer than what a cork holds
		corkBuffers.Put(k.heldFrames)
	}
	k.heldFrames = nil
	return err
}

func (k *cork) writeHeld() error {
	if k.heldFrames.Len() == 0 {
		return nil
	}
	_, err := k.Conn.Write(k.heldFrames.Bytes())
	k.heldFrames.Reset()
	return err
}
