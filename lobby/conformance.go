package lobby

import (
	"encoding/json"
	"math"
)

// echoRoom and counterRoom are the rooms without logic of Nexis' tests. They refuse messages.
type (
	echoRoom    struct{ memberless }
	counterRoom struct{ memberless }
)

func (echoRoom) OpenState(Opening) (State, error)          { return State{}, nil }
func (echoRoom) OnMessage(*Room, Member, Message) error    { return ErrNoLogic }
func (counterRoom) OpenState(Opening) (State, error)       { return State{"counter": encodeJSON(0)}, nil }
func (counterRoom) OnMessage(*Room, Member, Message) error { return ErrNoLogic }

// counterPluginRoom is the room whose logic is a plugin in Nexis' tests: "inc" adds data.by, and all
// members receive the counter after each message.
type counterPluginRoom struct{ memberless }

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

// incrementBy returns data.by within ±maxSafe, or 1 if data.by is no whole number.
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

// addSaturated returns a+b, bounded to the whole numbers that JavaScript represents: clients read the counter.
func addSaturated(a, b int64) int64 { return min(max(a+b, -maxSafe), maxSafe) }
