package realtime

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/lattice-director/director/db"
)

const (
	maxHandshake = 16 << 10 // bytes of the first frame
	// refusalClose is how long a refused client may take to close, too: it holds a slot.
	refusalClose = time.Second
)

// handshake is a connection whose client has no session yet.
type handshake struct {
	*Server

	ws      *websocket.Conn
	cork    *cork
	address string // under which failures are counted
}

// serve runs a connection from its first frame to its end.
func (h *handshake) serve() error {
	c, refused := h.judge()
	if refused != nil {
		h.metrics.handshakes.WithLabelValues(refused.code).Inc()
		h.refuse(refused)
		return nil
	}
	if c == nil {
		h.metrics.handshakes.WithLabelValues("gone").Inc()
		return h.ws.CloseNow()
	}
	h.metrics.handshakes.WithLabelValues("ok").Inc()
	c.run()
	return nil
}

// refusal is why a client gets no session.
type refusal struct {
	close  websocket.StatusCode
	code   string
	reason string // with which connect of the SDK rejects
	hint   string // "": that of the code

	charged bool // to the client's address
}

var (
	refuseSilence     = &refusal{close: closeTimeout, code: "handshake_timeout", reason: "no handshake in time"}
	refuseVersion     = &refusal{close: closeHandshake, code: codeVersion, reason: "unsupported handshake protocol version"}
	refuseCodec       = &refusal{close: closeHandshake, code: "unsupported_codec", reason: "codec negotiation failed"}
	refuseTakeovers   = &refusal{close: closeSuperseded, code: codeRateLimited, reason: "the session was taken over too often"}
	refuseUnavailable = &refusal{close: closeTryLater, code: codeUnavailable, reason: "temporarily unavailable"}
)

func refuseFrame(why string) *refusal {
	return &refusal{close: closeHandshake, code: codeBadFrame, reason: "decode failed: " + why}
}

// refuse sends the reason as text, which every client reads, and a close frame: scripts count only a close as refused. An address with too many
// failures gets neither.
func (h *handshake) refuse(r *refusal) {
	if r.charged && h.failures.Take(h.address) > 0 {
		_ = h.ws.CloseNow()
		return
	}
	h.options.Log.LogAttrs(context.Background(), slog.LevelDebug, "realtime client refused", slog.String("address", h.address), slog.String("reason", r.reason))
	_ = h.cork.SetDeadline(time.Now().Add(refusalClose))
	p := map[string]any{"reason": r.reason, "code": r.code}
	addText(p, "hint", cmp.Or(r.hint, handshakeHints[r.code]))
	frame := jsonCodec{}.Encode(outgoing{Type: "error", P: p})
	_ = h.ws.Write(context.Background(), websocket.MessageText, frame) // nothing else is to be done for a client that is gone
	_ = h.ws.Close(r.close, r.code)                                    // a reason may be longer than a close frame
}

// judge reads the handshake and attaches the client to a session, in the order of refusals: version, token, key, codec, session. It returns
// neither if the client is gone.
func (h *handshake) judge() (*conn, *refusal) {
	frame, refused, err := h.first()
	if refused != nil || err != nil {
		return nil, refused
	}
	asked, refused := parseHandshake(frame)
	if refused != nil {
		return nil, refused
	}
	ctx, cancel := context.WithTimeout(context.Background(), h.options.timing.call)
	defer cancel()
	who, refused := h.authenticate(ctx, asked)
	if refused != nil {
		return nil, refused
	}
	chosen := negotiate(asked.Codecs)
	if chosen == nil {
		if refused := h.judgeKey(ctx, who); refused != nil {
			return nil, refused
		}
		return nil, refuseCodec
	}
	return h.attach(ctx, who, chosen, asked.SessionID)
}

// first reads the first frame. An error means that the client is gone.
func (h *handshake) first() ([]byte, *refusal, error) {
	_ = h.cork.SetReadDeadline(time.Now().Add(h.options.timing.handshake))
	defer context.AfterFunc(h.welcoming, func() { _ = h.cork.SetReadDeadline(time.Now()) })()
	_, message, err := h.ws.Reader(context.Background())
	var frame []byte
	if err == nil {
		frame, err = io.ReadAll(io.LimitReader(message, maxHandshake+1))
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && h.welcoming.Err() != nil:
		return nil, refuseUnavailable, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, refuseSilence, nil
	case err != nil:
		return nil, nil, err
	case len(frame) > maxHandshake:
		return nil, refuseFrame("the handshake has more than 16 KiB"), nil
	}
	return frame, nil, h.cork.SetReadDeadline(time.Time{})
}

// asked is what a client asks for in its first frame.
type asked struct {
	Codecs    []string `json:"codecs"`
	ProjectID string   `json:"project_id"`
	Token     string   `json:"token"`
	SessionID string   `json:"session_id"`
}

// parseHandshake reads a handshake: a bare object, or the body of an envelope of type handshake.
func parseHandshake(frame []byte) (asked, *refusal) {
	var envelope struct {
		V *float64        `json:"v"`
		T string          `json:"t"`
		P json.RawMessage `json:"p"`
	}
	var a asked
	if !isObject(frame) || json.Unmarshal(frame, &envelope) != nil {
		return a, refuseFrame("the handshake is not a JSON object with v")
	}
	body := json.RawMessage(frame)
	if envelope.T != "" {
		if body = envelope.P; envelope.T != "handshake" || !isObject(body) {
			return a, refuseFrame("the first frame is not a handshake")
		}
	}
	if envelope.V == nil || *envelope.V != protocolVersion {
		return a, refuseVersion
	}
	if json.Unmarshal(body, &a) != nil {
		return asked{}, refuseFrame("codecs is a list of strings, and project_id, token and session_id are strings")
	}
	a.ProjectID, a.Token = strings.TrimSpace(a.ProjectID), strings.TrimSpace(a.Token)
	return a, nil
}

// isObject reports whether JSON begins an object; json.Unmarshal accepts null for one, too.
func isObject(text []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) }

// opening returns what the store is asked for.
func (h *handshake) opening(who identity, l *life, resume string) db.OpenRealtime {
	return db.OpenRealtime{
		Region: l.name, Project: who.project, Player: who.player, Authenticated: who.authenticated,
		Key: who.key, KeyRequired: h.options.RequireKey, Scope: h.options.KeyScope, TokenDigest: who.digest, TokenExpires: who.expires,
		TTL: h.options.SessionTTL, Resume: resume, ResumeByKey: h.options.ResumeByKey, Replica: l.id, Back: h.options.Rooms.Back,
	}
}
