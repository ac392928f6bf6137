package realtimetest

// Event is a message of the server. The log of a client holds the answers to RPCs, too.
type Event struct {
	Type, RID, Room string
	P               map[string]any // nil: none. Numbers are float64.
}

// Text returns a field of P that is a string, else "".
func (e Event) Text(field string) string {
	text, _ := e.P[field].(string)
	return text
}

// Response is the p of an rpc.response.
type Response map[string]any

// OK reports whether the RPC has succeeded.
func (r Response) OK() bool { ok, _ := r["ok"].(bool); return ok }

// Code returns the stable code of a failure.
func (r Response) Code() string { code, _ := r["code"].(string); return code }

// Room returns the room of an answer to a join.
func (r Response) Room() string { room, _ := r["room"].(string); return room }
