package realtime

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/realtime/wire"
	"github.com/lattice-director/director/server/ws"
)

const (
	maxHandshake = 16 << 10 // bytes of the first frame
	// refusalClose is how long a refused client may take to close its side: until then it holds a slot.
	refusalClose = time.Second
)

// handshake is a connection whose client has no session yet.
type handshake struct {
	server        *Server
	socket        *ws.Conn
	clientAddress string // under which failures are counted
}

// refuseClient sends the reason as an error event in text, which every client can read, and then a close frame. A
// client from an address with too many failures gets neither: its connection is cut.
func (h *handshake) refuseClient(r *refusal) {
	if r.isCharged && h.server.failureLimiter.Take(h.clientAddress) > 0 {
		h.socket.Cut()
		return
	}
	h.server.options.Log.LogAttrs(context.Background(), slog.LevelDebug, "realtime client refused",
		slog.String("address", h.clientAddress), slog.String("reason", r.reason))
	// Before anything is written: a client that does not read would otherwise hold its slot for the time limit of a
	// write.
	h.socket.EndWithin(refusalClose)
	p := map[string]any{"reason": r.reason, "code": r.code}
	wire.AddText(p, "hint", cmp.Or(r.hint, handshakeHints[r.code]))
	if r.otherCell != nil {
		p["region"] = r.otherCell.Region
		wire.AddText(p, "address", r.otherCell.Addresses[fault.ListenerRealtime])
	}
	// JSON whatever the client asked for: no codec was agreed on yet.
	frame := wire.JSONCodec{}.Encode(wire.Outgoing{Type: "error", P: p})
	_ = h.socket.WriteMessage(websocket.MessageText, frame) // nothing else is to be done for a client that is gone
	h.socket.Close(r.closeCode, r.code, refusalClose)       // a reason may be longer than a close frame
}

// readFirst reads the first frame. An error means that the client is gone.
func (h *handshake) readFirst() ([]byte, *refusal, error) {
	// A server that stops does not wait ten seconds for clients that have said nothing yet.
	defer context.AfterFunc(h.server.handshakeContext, h.socket.StopReading)()
	_, frame, err := h.socket.ReadFirst(time.Now().Add(h.server.options.timing.handshakeTimeout), maxHandshake)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && h.server.handshakeContext.Err() != nil:
		return nil, refuseUnavailable, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, refuseSilence, nil
	case err != nil:
		return nil, nil, err
	case len(frame) > maxHandshake:
		return nil, refuseFrame("the handshake has more than 16 KiB"), nil
	}
	return frame, nil, nil
}

// requestedSession is what a client asks for in its first frame.
type requestedSession struct {
	Codecs    []string `json:"codecs"`
	ProjectID string   `json:"project_id"`
	Token     string   `json:"token"`
	SessionID string   `json:"session_id"`
}

// parseHandshake reads a handshake: a bare object, or the body of an envelope of type handshake.
func parseHandshake(frame []byte) (requestedSession, *refusal) {
	var envelope struct {
		V *float64        `json:"v"`
		T string          `json:"t"`
		P json.RawMessage `json:"p"`
	}
	var a requestedSession
	if !isObject(frame) || json.Unmarshal(frame, &envelope) != nil {
		return a, refuseFrame("the handshake is not a JSON object with v")
	}
	body := json.RawMessage(frame)
	// A frame without t is the bare object.
	if envelope.T != "" {
		body = envelope.P
		if envelope.T != "handshake" || !isObject(body) {
			return a, refuseFrame("the first frame is not a handshake")
		}
	}
	if envelope.V == nil || *envelope.V != wire.ProtocolVersion {
		return a, refuseVersion
	}
	if json.Unmarshal(body, &a) != nil {
		return requestedSession{},
			refuseFrame("codecs is a list of strings, and project_id, token and session_id are strings")
	}
	// Tokens are often read from files and environment variables, with the end of their line.
	a.ProjectID, a.Token = strings.TrimSpace(a.ProjectID), strings.TrimSpace(a.Token)
	return a, nil
}

// isObject reports whether JSON begins an object; json.Unmarshal accepts null for one, too.
func isObject(text []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) }
