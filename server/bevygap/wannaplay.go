package bevygap

import (
	"encoding/base64"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// serveWannaplay answers once, when the server is there or the request has failed.
func (f *Face) serveWannaplay(c *gin.Context) {
	who, crowded, leave, ok := f.takeSlot(c)
	if !ok {
		return
	}
	defer leave()
	failed := crowded
	if f.options.DefaultGame == "" && failed == nil {
		failed = newFailure(http.StatusNotFound, "this path names no game, and no default is set")
	}
	r := request{game: f.options.DefaultGame, version: f.options.DefaultVersion}
	f.serveHTTP(c, &conversation{request: r, outlet: &single{c, f.options.writeTimeout}, caller: who}, failed)
}

// single is an answer in one piece.
type single struct {
	c            *gin.Context
	writeTimeout time.Duration
}

// sendFrame implements outlet: only the end is an answer.
func (s *single) sendFrame([]byte) error { return s.c.Request.Context().Err() }

// sendLast implements outlet.
func (s *single) sendLast(e ending) error {
	_ = http.NewResponseController(s.c.Writer).SetWriteDeadline(time.Now().Add(s.writeTimeout))
	s.c.Header("Cache-Control", "no-store")
	if e.failure != nil {
		s.sendFailure(*e.failure)
	} else {
		// The media type is that of bevygap's server.
		s.c.Data(http.StatusOK, "text/json", connectionAnswer(*e.connection))
	}
	// The seat of a client that has left is given back, because it has not read the answer.
	return s.c.Request.Context().Err()
}

func (s *single) sendFailure(f failure) {
	// After these failures another request may succeed a second later.
	if f.code == http.StatusTooManyRequests || f.code == http.StatusServiceUnavailable {
		s.c.Header("Retry-After", "1")
	}
	s.c.Data(int(f.code), "text/plain; charset=utf-8", []byte(f.text))
}

func connectionAnswer(n Connection) []byte {
	return encodeFrame(struct {
		Token  string `json:"connect_token"`
		IP     string `json:"gameserver_ip"`
		Port   uint16 `json:"gameserver_port"`
		Digest string `json:"cert_digest"`
	}{base64.StdEncoding.EncodeToString(n.Token), hostText(n.IP), n.Port, n.CertDigest})
}
