package realtime

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/coder/websocket"
)

// Echo answers handshakes and calls at once, without a database, sessions, limits or pings. Its costs are those of the
// WebSocket library and of JSON. A connection ends when its client closes it.
func Echo() http.Handler {
	var opened atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		_ = echo(context.WithoutCancel(r.Context()), ws, opened.Add(1)) // until the client closes
		_ = ws.CloseNow()
	})
}

// echo answers the handshake and the calls of connection n. Its error is the end of the connection.
func echo(ctx context.Context, ws *websocket.Conn, n int64) error {
	answer := fmt.Sprintf(`{"v":1,"t":"handshake.ok","p":{"codec":"json","session_id":"s-%016x","resumed":false}}`, n)
	for {
		_, text, err := ws.Read(ctx)
		if err != nil {
			return err
		}
		var f struct {
			RID string `json:"rid"`
		}
		if err := json.Unmarshal(text, &f); err != nil {
			return err
		}
		if f.RID != "" {
			answer = fmt.Sprintf(`{"v":1,"t":"rpc.response","rid":%q,"p":{"ok":true}}`, f.RID)
		}
		if err := ws.Write(ctx, websocket.MessageText, []byte(answer)); err != nil {
			return err
		}
	}
}
