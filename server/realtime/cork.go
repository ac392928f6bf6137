package realtime

import (
	"bytes"
	"net"
	"sync"
)

// corkBytes is how much a cork holds before it writes.
const corkBytes = smallFrame

// cork is the writing side of a connection. Between hold and flush it collects frames, so that a burst of small frames is one system call, and one
// record of TLS. Safe for concurrent use.
type cork struct {
	net.Conn

	mu   sync.Mutex
	held *bytes.Buffer // nil: frames are written at once
}

// hold collects frames until flush.
func (k *cork) hold() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held == nil {
		k.held, _ = frames.Get().(*bytes.Buffer)
		k.held.Reset()
	}
}

// Write implements io.Writer.
func (k *cork) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held == nil {
		return k.Conn.Write(p)
	}
	if k.held.Len()+len(p) > corkBytes {
		if err := k.write(); err != nil {
			return 0, err
		}
	}
	return k.held.Write(p)
}

// flush writes what was collected. Later frames are written at once.
func (k *cork) flush() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held == nil {
		return nil
	}
	err := k.write()
	putFrame(k.held)
	k.held = nil
	return err
}

func (k *cork) write() error {
	if k.held.Len() == 0 {
		return nil
	}
	_, err := k.Conn.Write(k.held.Bytes())
	k.held.Reset()
	return err
}
