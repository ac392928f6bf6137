package delivery

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/lobby/esjson"
)

// The sessions of a room here and elsewhere join, join again, leave and speak in any order; answers overtake each other,
// and some never arrive. Each session gets all messages between its join and its leave, once, in the order of the log; and
// patches without a gap, up to the room's state.
func TestEveryMemberIsSentOneSequence(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(drawStep), 1, 60).Draw(rt, "steps")
		var w *world
		synctest.Test(t, func(t *testing.T) { // rapid's own panics must not end a bubble
			w = newWorld(t)
			defer w.stop()
			for _, s := range steps {
				w.take(s)
			}
			w.settle()
		})
		for _, r := range w.here {
			require.Empty(rt, r.faults, r.Session.ID)
			if r.from == 0 {
				require.Empty(rt, r.frames)
				continue
			}
			sent := w.sent(r)
			switch {
			case w.pruned: // messages are lost, but never the order of the others
				require.True(rt, slices.IsSortedFunc(r.messages, inNumbers), "%v", r.messages)
				require.Subset(rt, sent, r.messages)
			case r.inside:
				require.Equal(rt, sent, append([]string{}, r.messages...), r.Session.ID)
			default: // its leave may have overtaken the rows before it
				require.LessOrEqual(rt, len(r.messages), len(sent))
				require.Equal(rt, sent[:len(r.messages)], append([]string{}, r.messages...), r.Session.ID)
			}
			if r.inside {
				w.checkState(rt, r)
			}
		}
	})
}

// Pins a join that waits for an earlier one of its session, for which the log is read, and is lost with its room when
// the last member leaves meanwhile.
func TestAJoinBehindAReadingIsNotLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.stop()
		w.log.hold = make(chan struct{})
		late, other := w.here[0], w.here[1]
		w.join(late, "x")
		for range 3 {
			w.log.act("", w.message("s-elsewhere"))
		}
		w.join(other, "y")
		w.deliver(1)
		synctest.Wait()
		w.deliver(0) // the room lacks the rows since
		w.joinAgain(late)
		w.deliver(0)
		w.leave(other, "")
		w.deliver(0)
		synctest.Wait()
		close(w.log.hold)
		w.settle()
		joined := 0
		for _, frame := range late.frames {
			if p, _ := frame["p"].(map[string]any); frame["t"] == "room.joined" && p["client_id"] == "s-a" {
				joined++
			}
		}
		require.Equal(t, 2, joined)
		w.checkState(t, late)
	})
}

// An asynchronous standby is promoted, which lacks three rows that members were sent. Whether it has fewer rows than
// they by the time it is looked at, or more, all of them see what it has. Pins rows at known positions that were
// dropped, and a state that was wrong for as long as the room lived.
func TestMembersSeeWhatAPromotedStandbyHas(t *testing.T) {
	t.Parallel()
	for _, since := range []int{0, 1, 3, 5} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			defer w.stop()
			members := w.here[:2]
			for _, r := range members {
				w.join(r, "x")
			}
			w.settle()
			had := w.log.room
			for range 3 {
				w.log.act("lost", w.message("s-elsewhere"))
			}
			w.settle()
			require.Contains(t, members[0].state, "lost")

			w.log.failOver(had)
			for range since {
				a := w.log.act("y")
				w.answers = append(w.answers, answer{reach: func() { w.hub.DeliverAnswer(a) }})
			}
			w.settle()
			for _, r := range members {
				w.checkState(t, r)
			}
			w.log.act("z", w.message("s-elsewhere"))
			w.settle()
			for _, r := range members {
				w.checkState(t, r)
				require.Equal(t, strconv.Itoa(w.said), r.messages[len(r.messages)-1])
			}
		})
	}
}

// step is something that happens to a world.
type step struct {
	what, key      string
	session, which int
	pause          time.Duration
	lost           bool // the caller is gone before its answer
}

func drawStep(rt *rapid.T) step {
	return step{
		what: rapid.SampledFrom([]string{"join", "again", "leave", "say", "say", "remote", "remote", "deliver", "deliver",
			"pass", "prune"}).Draw(rt, "what"),
		key:     rapid.SampledFrom([]string{"", "x", "y"}).Draw(rt, "key"),
		session: rapid.IntRange(0, 2).Draw(rt, "session"), which: rapid.IntRange(0, 8).Draw(rt, "which"),
		pause: rapid.SampledFrom([]time.Duration{time.Millisecond, 20 * time.Millisecond, 3 * time.Second}).Draw(rt,
			"pause"), lost: rapid.Bool().Draw(rt, "lost"),
	}
}

// world is a room whose members are connected to one hub, or to other processes.
type world struct {
	log  *memoryLog
	hub  *Hub
	stop func()
	here []*resident

	answers []answer // that have not reached the hub
	said    int
	pruned  bool
}

// answer is that to an action, which reaches the hub.
type answer struct {
	of    *resident // whose join or leave it is; nil: none
	reach func()
}

// resident is a session connected to the hub.
type resident struct {
	*listener

	inside   bool
	from, to int64 // positions of its join and its leave
	rejoins  int   // whose answers have not reached the hub
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{log: &memoryLog{uid: uuid.New(), server: time.Unix(1, 0),
		room: lobby.Snapshot{ID: testRoom, StateSeq: 1, State: lobby.State{}}}}
	w.hub = NewHub(HubOptions{
		Store: w.log, Feed: quietNotices{}, Region: "eu", Replica: uuid.New,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Guard: panics.New(nil, nil),
	})
	w.stop = background.Loop(t, w.hub.Run)
	for i, id := range []string{"s-a", "s-b", "s-c"} {
		c := &listener{Session: db.SessionEpoch{ID: id, Epoch: 1}, hub: w.hub, acks: i > 0}
		w.hub.AttachConn(c, db.OpenedRealtime{SessionID: id, OwnerEpoch: 1})
		w.here = append(w.here, &resident{listener: c})
	}
	return w
}

func (w *world) take(s step) {
	r := w.here[s.session]
	switch s.what {
	case "join":
		w.join(r, s.key)
	case "again":
		w.joinAgain(r)
	case "leave":
		w.leave(r, s.key)
	case "say":
		if r.inside {
			a := w.log.act(s.key, w.message(r.Session.ID))
			if !s.lost {
				w.answers = append(w.answers, answer{reach: func() { w.hub.DeliverAnswer(a) }})
			}
		}
	case "remote":
		w.log.act(s.key, w.message("s-elsewhere"))
	case "deliver":
		w.deliver(s.which)
	case "prune":
		w.log.prune()
		w.pruned = true
	case "pass":
		time.Sleep(s.pause)
		synctest.Wait()
	}
}

func (w *world) message(from string) lobby.Entry {
	w.said++
	return lobby.Entry{Kind: lobby.EntryMessage, Session: from, Type: "say",
		Data: json.RawMessage(strconv.Quote(strconv.Itoa(w.said)))}
}

// join joins, unless the session has done so before: a session's own join and leave reach the hub in order.
func (w *world) join(r *resident, key string) {
	if r.from > 0 {
		return
	}
	a := w.log.act(key, w.message("s-elsewhere"), lobby.Entry{Kind: lobby.EntryJoined, Session: r.Session.ID},
		w.message(r.Session.ID))
	r.inside, r.from = true, a.RoomSnapshot.LogPosition
	w.answers = append(w.answers, answer{r, func() { w.hub.JoinRoom(r.listener, a) }})
}

// joinAgain joins as a member, which changes nothing in the room.
func (w *world) joinAgain(r *resident) {
	if !r.inside {
		return
	}
	room := w.log.room
	a := db.LobbyAnswer{LobbyUID: w.log.uid, RoomSnapshot: &room, PreviousPos: room.LogPosition}
	r.rejoins++
	w.answers = append(w.answers, answer{r, func() {
		r.rejoins--
		w.hub.JoinRoom(r.listener, a)
	}})
}

// leave leaves, unless the session is about to join again: after the leave, that would show it the room as it was.
func (w *world) leave(r *resident, key string) {
	if !r.inside || r.rejoins > 0 {
		return
	}
	a := w.log.act(key, w.message(r.Session.ID), lobby.Entry{Kind: lobby.EntryLeft, Session: r.Session.ID})
	r.inside, r.to = false, a.RoomSnapshot.LogPosition
	w.answers = append(w.answers, answer{r, func() { w.hub.LeaveRoom(r.listener, a) }})
}

// deliver lets any answer reach the hub, but of the joins and the leave of one session the oldest.
func (w *world) deliver(i int) {
	if len(w.answers) == 0 {
		return
	}
	i %= len(w.answers)
	if of := w.answers[i].of; of != nil {
		i = slices.IndexFunc(w.answers, func(a answer) bool { return a.of == of })
	}
	w.answers[i].reach()
	w.answers = slices.Delete(w.answers, i, i+1)
}

// settle delivers what is left, and lets the hub compare its positions and open all gates.
func (w *world) settle() {
	for len(w.answers) > 0 {
		w.deliver(0)
	}
	time.Sleep(20 * time.Second)
	synctest.Wait()
}

// inNumbers compares two messages, which are numbers; none may come twice.
func inNumbers(a, b string) int {
	first, _ := strconv.Atoi(a)
	second, _ := strconv.Atoi(b)
	if first == second {
		return -1
	}
	return first - second
}

// sent returns the messages that a session has to get.
func (w *world) sent(r *resident) []string {
	said := []string{}
	inside := false
	for _, row := range w.log.all {
		for _, e := range row.Entries {
			own := e.Session == r.Session.ID
			switch {
			case own && e.Kind == lobby.EntryJoined:
				inside = true
			case own && e.Kind == lobby.EntryLeft:
				return said
			case inside && e.Kind == lobby.EntryMessage && row.LogPos != r.to:
				said = append(said, strings.Trim(string(e.Data), `"`))
			}
		}
	}
	return said
}

func (w *world) checkState(rt require.TestingT, r *resident) {
	require.InDelta(rt, w.log.room.StateSeq, r.seq, 0, r.Session.ID)
	state := must.Get(esjson.ParseText(w.log.room.State.JSON()))(rt)
	require.Equal(rt, state, any(r.state))
	var ids []any
	for _, m := range w.log.room.Members {
		ids = append(ids, m.Session)
	}
	slices.SortFunc(ids, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	require.Equal(rt, ids, r.members)
}
