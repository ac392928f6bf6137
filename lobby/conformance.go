package lobby

import (
	"encoding/json"
	"math"
)

// echoRoom and counterRoom are the rooms without logic of Nexis' tests. They refuse messages.
type (
	echoRoom    struct{ plain }
	counterRoom struct{ plain }
)

func (echoRoom) OpenState(Opening) (State, error)          { return State{}, nil }
func (echoRoom) OnMessage(*Room, Member, Message) error    { return ErrNoLogic }
func (counterRoom) OpenState(Opening) (State, error)       { return State{"counter": encodeJSON(0)}, nil }
func (counterRoom) OnMessage(*Room, Member, Message) error { return ErrNoLogic }

// plain is the part of a logic to which it does not matter who is a member.
type plain struct{}

func (plain) OnJoin(*Room, Member, Options) error { return nil }
func (plain) OnLeave(*Room, Member) error         { return nil }
func (plain) OnAway(*Room, Member) error          { return nil }
func (plain) OnBack(*Room, Member) error          { return nil }

// counterPluginRoom is the room whose logic is a plugin in Nexis' tests: "inc" adds data.by, and each message is
// answered to all.
type counterPluginRoom struct{ plain }

func (counterPluginRoom) OpenState(Opening) (State, error) {
	return State{"counter": encodeJSON(0)}, nil
}

func (counterPluginRoom) OnMessage(r *Room, _ Member, m Message) error {
	var counter, by int64
	_ = json.Unmarshal(r.State["counter"], &counter)
	if m.Type == "inc" {
		by = incrementBy(m.Data)
	}
	if by != 0 {
		counter = addSaturated(counter, by)
		r.SetKey("counter", counter)
	}
	r.TellMembers("counter.updated", map[string]int64{"by": by, "counter": counter})
	return nil
}

// maxSafe is the largest whole number up to which JavaScript knows all.
const maxSafe = 1<<53 - 1

// incrementBy returns data.by, 1 if it is no whole number.
func incrementBy(data json.RawMessage) int64 {
	var d struct {
		By any `json:"by"`
	}
	_ = json.Unmarshal(data, &d)
	n, ok := d.By.(float64)
	if !ok || n != math.Trunc(n) {
		return 1
	}
	return int64(min(max(n, -maxSafe), maxSafe))
}

// addSaturated stays within the whole numbers that JavaScript knows: the counter is in the state that clients read.
func addSaturated(a, b int64) int64 { return min(max(a+b, -maxSafe), maxSafe) }
