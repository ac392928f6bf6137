package lobby

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
)

// Phases of lobbies and parties.
const (
	phaseOpen      = "open"
	phaseCountdown = "countdown"
	phaseQueued    = "queued"
	phaseMatched   = "matched"
)

const (
	maxAttributes = 16 << 10 // bytes
	maxLatencies  = 64
	maxLatency    = 10_000 // milliseconds
)

// queuing is a logic whose members queue together.
type queuing interface {
	resetAfterMatch(r *Room) // changes what a match changes beside the phase
	// checkEnqueue decides whether the members may queue, for a caller outside of the room.
	checkEnqueue(r *Room, q Queue) error
}

// queuePlace is what the members of a room are queued for, in its state.
type queuePlace struct {
	RoomType string `json:"room_type"`
	Size     int    `json:"size"`
}

// lastMatch is the match to which a room led last, in its state.
type lastMatch struct {
	ID   string `json:"id"`
	Room string `json:"room"`
}

// dequeueAndReopen takes the members of a room out of the queue and sets the phase open.
func dequeueAndReopen(r *Room) {
	if r.textOf("phase") == phaseQueued {
		r.DequeueMembers()
	}
	reopenRoom(r)
}

// reopenRoom sets the phase open. It leaves the queue alone.
func reopenRoom(r *Room) {
	if r.textOf("phase") != phaseOpen {
		r.SetKey("phase", phaseOpen)
	}
	r.DeleteKey("queue")
	r.DeleteKey("countdown")
}

// enqueueMembers puts the members of a room into a queue. Members that are queued for the same keep their place.
func (g group) enqueueMembers(r *Room, q Queue) error {
	if err := g.checkEnqueue(r, q); err != nil {
		return err
	}
	wanted := encodeJSON(queuePlace{RoomType: q.RoomType, Size: q.MatchSize})
	if r.textOf("phase") != phaseQueued || string(r.State["queue"]) != string(wanted) {
		dequeueAndReopen(r)
		r.EnqueueMembers(q)
		setQueued(r, q)
	}
	r.CallerAnswer = map[string]any{"queued": true, "room_type": q.RoomType, "size": q.MatchSize}
	return nil
}

// setQueued shows in the state what the members are queued for.
func setQueued(r *Room, q Queue) {
	r.SetKey("phase", phaseQueued)
	r.SetKey("queue", queuePlace{RoomType: q.RoomType, Size: q.MatchSize})
	r.DeleteKey("countdown")
}

// checkEnqueue decides whether the members of a room may queue together.
func (g group) checkEnqueue(r *Room, q Queue) error {
	typ, _ := g.roomTypes.LookupType(q.RoomType)
	switch {
	// The ticket of an absent member is paused, and the others would wait in vain.
	case slices.ContainsFunc(r.Members, func(m Member) bool { return m.IsAway }):
		return Invalid("members", "must all be connected")
	case len(r.Members) > maxMatch:
		return Invalid("members", "must be at most %d to queue", maxMatch)
	// A profile has sizes of its own, and its rules judge the party.
	case typ.ProfileName == "" && q.MatchSize < len(r.Members):
		return Invalid("size", "must be at least the number of members")
	}
	return nil
}

// queueOf reads what the members are to queue for; what the fields leave out is that of byDefault.
func queueOf(r *Room, f fields, byDefault Queue) (Queue, error) {
	q := byDefault
	name, err := f.textField("room_type", maxTypeBytes)
	if err != nil {
		return q, err
	}
	if name != "" {
		q.RoomType = name
	}
	if !ValidType(q.RoomType) {
		return q, Invalid("room_type", "must be the name of a room type")
	}
	q.MatchSize = sizeOf(r, f, q.MatchSize)
	if q.Attributes, err = attributesOf(f); err != nil {
		return q, err
	}
	q.Latencies, err = latenciesOf(f)
	return q, err
}

// sizeOf reads the size of a match. Without a field it is byDefault, and the number of members if that is 0, too.
func sizeOf(r *Room, f fields, byDefault int) int {
	if raw := f.rawField("size"); raw != nil {
		var asked any
		_ = json.Unmarshal(raw, &asked)
		// Clamped and not refused, as Nexis does it.
		return ClampSize(asked)
	}
	if byDefault > 0 {
		return byDefault
	}
	return ClampSize(float64(len(r.Members)))
}

func attributesOf(f fields) (json.RawMessage, error) {
	raw := f.rawField("attributes")
	if _, err := readFields("attributes", raw); err != nil {
		return nil, err
	}
	if len(raw) > maxAttributes {
		return nil, Invalid("attributes", "must have at most %d bytes", maxAttributes)
	}
	// A copy: the effect outlives the frame whose bytes these are.
	return slices.Clone(raw), nil
}

// latenciesOf reads latencies in milliseconds by region; nil: there are none.
func latenciesOf(f fields) (map[string]float64, error) {
	raw := f.rawField("latencies")
	if raw == nil {
		return nil, nil //nolint:nilnil // none is no error
	}
	var measured map[string]*float64
	if json.Unmarshal(raw, &measured) != nil || len(measured) > maxLatencies {
		return nil, Invalid("latencies", "must be an object of at most %d regions with milliseconds from 0 to %d",
			maxLatencies, maxLatency)
	}
	byRegion := make(map[string]float64, len(measured))
	for _, region := range slices.Sorted(maps.Keys(measured)) {
		ms := measured[region]
		// null: the client could not measure it, and the region is left out, as in a request for a ticket.
		if ms == nil {
			continue
		}
		if *ms < 0 || *ms > maxLatency || *ms != math.Trunc(*ms) {
			return nil, Invalid("latencies."+region, "must be a whole number of milliseconds from 0 to %d", maxLatency)
		}
		byRegion[region] = *ms
	}
	return byRegion, nil
}

// MarkUnqueued returns the action of a room whose members the director took out of the queue, for a reason that detail
// explains in words if it is not empty. The action changes nothing unless the members are queued.
func (t *Types) MarkUnqueued(reason, detail string) Action {
	return t.queuingAction(func(r *Room, _ queuing) {
		// The members have left the queue or were matched since: what became of that ticket is no news to them.
		if r.textOf("phase") != phaseQueued {
			return
		}
		reopenRoom(r)
		r.TellMembers("unqueued", unqueuedNotice{reason, detail})
	})
}

// unqueuedNotice is why members left the queue.
type unqueuedNotice struct {
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
}

// MarkMatched returns the action of a room whose members were matched. A second action for the match changes nothing.
func (t *Types) MarkMatched(matchID, room string) Action {
	return t.queuingAction(func(r *Room, logic queuing) {
		var last lastMatch
		_ = json.Unmarshal(r.State["match"], &last)
		// The director calls again when the answer to its first call was lost.
		if last.ID == matchID {
			return
		}
		r.DeleteKey("queue")
		r.DeleteKey("countdown")
		r.SetKey("phase", phaseMatched)
		r.SetKey("match", lastMatch{ID: matchID, Room: room})
		logic.resetAfterMatch(r)
		r.TellMembers("matched", lastMatch{ID: matchID, Room: room})
	})
}

// queuingAction makes an action of a room whose members can queue; for other rooms it fails with
// [ErrWrongType].
func (t *Types) queuingAction(act func(*Room, queuing)) Action {
	return atomicAction(func(r *Room) error {
		logic, ok := t.logicOf(r).(queuing)
		if !ok {
			return ErrWrongType
		}
		act(r, logic)
		return nil
	})
}

const (
	minMatch = 2  // players of a match
	maxMatch = 16 // players of a match
)

// ClampSize returns the number of players of a match for what a client asked for: a number is clamped to 2 to 16, and
// anything else is 2.
func ClampSize(asked any) int {
	n, ok := asked.(float64)
	// min and max would return NaN, which converts to no particular int.
	if !ok || math.IsNaN(n) {
		return minMatch
	}
	return int(min(max(n, minMatch), maxMatch))
}
