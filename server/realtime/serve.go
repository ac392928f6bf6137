package realtime

import (
	"context"

	"github.com/lattice-director/director/server/realtime/wire"
)

// serveClient runs a connection from its first frame to its end. Its error, which is always nil, is for the guard.
func (h *handshake) serveClient() error {
	c, refused := h.admitClient()
	if refused != nil {
		h.server.metrics.handshakes.WithLabelValues(refused.code).Inc()
		h.refuseClient(refused)
		return nil
	}
	if c == nil { // it closed before its first frame
		h.server.metrics.handshakes.WithLabelValues("gone").Inc()
		h.socket.Cut()
		return nil
	}
	h.server.metrics.handshakes.WithLabelValues("ok").Inc()
	c.serveSession()
	return nil
}

// admitClient reads the handshake and attaches the client to a session. The order of refusals is: version, token, key,
// codec, session. It returns neither a connection nor a refusal if the client is gone.
func (h *handshake) admitClient() (*conn, *refusal) {
	frame, refused, err := h.readFirst()
	if refused != nil || err != nil {
		return nil, refused
	}
	asked, refused := parseHandshake(frame)
	if refused != nil {
		return nil, refused
	}
	ctx, cancel := context.WithTimeout(context.Background(), h.server.options.timing.callTimeout)
	defer cancel()
	who, refused := h.judgeToken(ctx, asked)
	if refused != nil {
		return nil, refused
	}
	chosen := wire.NegotiateCodec(asked.Codecs)
	if chosen == nil {
		// The key comes before the codec in the order of refusals. The statement that opens the session, which judges
		// the key of all other clients, does not run.
		if refused := h.judgeKey(ctx, who); refused != nil {
			return nil, refused
		}
		return nil, refuseCodec
	}
	return h.attachSession(ctx, who, chosen, asked.SessionID)
}
