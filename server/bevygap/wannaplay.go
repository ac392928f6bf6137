package bevygap

import (
	"encoding/base64"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// serveWannaplay answers once, when the server is there or the request has failed.
func (f *Face) serveWannaplay(c *gin.Context) {
	who, crowded, leave, ok := f.enter(c)
	if !ok {
		return
	}
	defer leave()
	if f.options.DefaultGame == "" && crowded == nil {
		crowded = fail(http.StatusNotFound, "this path names no game, and no default is set")
	}
	r := request{game: f.options.DefaultGame, version: f.options.DefaultVersion}
	f.serveHTTP(c, &conversation{request: r, out: &single{c, f.options.writeTimeout}, who: who}, crowded)
}

// single is an answer in one piece.
type single struct {
	c       *gin.Context
	timeout time.Duration
}

// send implements outlet: only the end is an answer.
func (s *single) send([]byte) error { return s.c.Request.Context().Err() }

// end implements outlet.
func (s *single) end(e ending) error {
	_ = http.NewResponseController(s.c.Writer).SetWriteDeadline(time.Now().Add(s.timeout))
	s.c.Header("Cache-Control", "no-store")
	if e.failed != nil {
		if e.failed.code == http.StatusTooManyRequests || e.failed.code == http.StatusServiceUnavailable {
			s.c.Header("Retry-After", "1")
		}
		s.c.Data(int(e.failed.code), "text/plain; charset=utf-8", []byte(e.failed.text))
	} else {
		s.c.Data(http.StatusOK, "text/json", answer(*e.ready))
	}
	return s.c.Request.Context().Err()
}

func answer(n Connection) []byte {
	return encode(struct {
		Token  string `json:"connect_token"`
		IP     string `json:"gameserver_ip"`
		Port   uint16 `json:"gameserver_port"`
		Digest string `json:"cert_digest"`
	}{base64.StdEncoding.EncodeToString(n.Token), host(n.IP), n.Port, n.CertDigest})
}
