package wire

import "maps"

// Outgoing is a message to a client. Its P is whatever esjson.Append accepts; nil: none. Empty fields are left out.
type Outgoing struct {
	Type, RID, Room string
	P               any
}

// fieldMap returns the message as both codecs encode it.
func (o Outgoing) fieldMap() map[string]any {
	m := map[string]any{"v": ProtocolVersion, "t": o.Type}
	if o.RID != "" {
		m["rid"] = o.RID
	}
	if o.Room != "" {
		m["room"] = o.Room
	}
	if o.P != nil {
		m["p"] = o.P
	}
	return m
}

// SuccessResponse is the rpc.response of a success. room is the room of the answer; more are fields of p beside ok.
func SuccessResponse(rid, room string, more map[string]any) Outgoing {
	p := map[string]any{"ok": true}
	maps.Copy(p, more)
	return Outgoing{Type: "rpc.response", RID: rid, Room: room, P: p}
}

// FailureResponse is the rpc.response of a failure. room is the room as asked for.
func FailureResponse(rid, room string, f *Failure) Outgoing {
	p := map[string]any{"ok": false, "error": f.Text, "code": f.Code}
	f.describeIn(p)
	return Outgoing{Type: "rpc.response", RID: rid, Room: room, P: p}
}

// FailureEvent is the event for the failure of a message without a rid.
func FailureEvent(room string, f *Failure) Outgoing {
	p := map[string]any{"reason": f.Text, "code": f.Code}
	f.describeIn(p)
	if room != "" {
		p["room"] = room
	}
	return Outgoing{Type: "error", P: p}
}

// describeIn adds what clients of Nexis do not know, beside what they read.
func (f *Failure) describeIn(p map[string]any) {
	AddText(p, "hint", Hints[f.Code])
	if f.Field != "" {
		p["field"] = f.Field
	}
	if f.RetryAfter > 0 {
		p["retry_after_ms"] = f.RetryAfter.Milliseconds()
	}
}

// AddText sets a key of a payload, unless the text is empty.
func AddText(p map[string]any, key, text string) {
	if text != "" {
		p[key] = text
	}
}
