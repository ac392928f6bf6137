package nats

import (
	"encoding/json"
	"fmt"
	"strings"
)

// serverInfo is the first thing that a client gets.
type serverInfo struct {
	ServerID     string `json:"server_id"`
	ServerName   string `json:"server_name"`
	Version      string `json:"version"`
	Proto        int    `json:"proto"`
	Headers      bool   `json:"headers"`
	AuthRequired bool   `json:"auth_required"`
	TLSRequired  bool   `json:"tls_required"`
	MaxPayload   int    `json:"max_payload"`
	JetStream    bool   `json:"jetstream"`
	ClientID     uint64 `json:"client_id"`
}

// spokenVersion is the version of NATS whose protocol is spoken, by which clients choose what they ask for. It has
// direct reads of buckets; later ones have more of consumers, which are not served.
const spokenVersion = "2.9.25"

func (i serverInfo) line() []byte {
	text, _ := json.Marshal(i) //nolint:errchkjson // texts and numbers
	return fmt.Appendf(nil, "INFO %s\r\n", text)
}

// connectRequest is what a client says of itself.
type connectRequest struct {
	User         string `json:"user"`
	Password     string `json:"pass"`
	Verbose      bool   `json:"verbose"`
	Headers      bool   `json:"headers"`
	NoResponders bool   `json:"no_responders"`
}

var (
	pingLine = []byte("PING\r\n")
	pongLine = []byte("PONG\r\n")
	okLine   = []byte("+OK\r\n")
)

// errorLine returns the line that says what is wrong, in NATS's words.
func errorLine(text string) []byte { return []byte("-ERR '" + text + "'\r\n") }

// header is one of a message.
type header struct{ name, value string }

// message is what a client gets at the subject of a reply.
type message struct {
	status  string // such as "404 Message Not Found"; "": none
	headers []header
	payload []byte
}

// encodeFor returns the message for a subscription.
func (m message) encodeFor(subject, sid string) []byte {
	if m.status == "" && len(m.headers) == 0 {
		return fmt.Appendf(nil, "MSG %s %s %d\r\n%s\r\n", subject, sid, len(m.payload), m.payload)
	}
	var fields strings.Builder
	fields.WriteString("NATS/1.0")
	if m.status != "" {
		fields.WriteString(" " + m.status)
	}
	fields.WriteString("\r\n")
	for _, h := range m.headers {
		fields.WriteString(h.name + ": " + h.value + "\r\n")
	}
	fields.WriteString("\r\n")
	return fmt.Appendf(nil, "HMSG %s %s %d %d\r\n%s%s\r\n", subject, sid, fields.Len(), fields.Len()+len(m.payload),
		fields.String(), m.payload)
}
