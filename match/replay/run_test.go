package replay_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/match/replay"
	"github.com/lattice-director/director/match/simulate"
)

var begin = time.Date(2026, 1, 5, 18, 0, 0, 0, time.UTC)

const duel = "name: duel\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\n" +
	"rules: [{near: skill, within: 100, widen: [{after: 10s, within: 300}]}]\n"

// at is a ticket of one player that arrives so many seconds after the beginning.
func at(seconds float64, id string, skill float64) replay.Arrival {
	when := begin.Add(time.Duration(seconds * float64(time.Second)))
	return replay.Arrival{SeenAt: when, Ticket: &match.Ticket{
		ID: id, Created: when, Profiles: []string{"duel"},
		Players: []match.Player{{Sub: id, Attributes: match.Attributes{"skill": {Kind: match.Number, Number: skill}}}},
	}}
}

func matched(a replay.Arrival, was string, first bool, seconds float64) replay.Arrival {
	a.Recorded = &replay.RecordedMatch{Match: was, Version: 1, Seed: 7, Tickets: 2, First: first, DecidedAt: begin.Add(time.Duration(seconds * float64(time.Second)))}
	a.Recorded.SeatedAt = a.Recorded.DecidedAt
	return a
}

func run(t *testing.T, document string, change func(*replay.Input), arrivals ...replay.Arrival) *replay.Report {
	t.Helper()
	in := replay.Input{
		Version: decide.Version{Profile: must.Get(profile.Parse([]byte(document)))(t), Number: 1}, Seed: 7, Begin: begin, End: begin.Add(time.Hour),
		Arrivals: withoutErrors(arrivals), Matches: func(func(replay.Match, error) bool) {}, HasSameRules: func(v int) bool { return v == 1 },
	}
	if change != nil {
		change(&in)
	}
	return must.Get(replay.Run(t.Context(), in))(t)
}

// A match is decided at the moment at which the rules first allow it: when the second ticket comes, or when a rule
// widens.
func TestTicketsWaitUntilTheRulesAllowAMatch(t *testing.T) {
	t.Parallel()
	r := run(t, duel, nil, at(0, "ada", 1000), at(3, "bo", 1050), at(5, "cy", 2000), at(6, "di", 2250))
	require.Equal(t, 4, r.Replayed.Matched)
	require.InDelta(t, (3.0+0+10+9)/4, r.Replayed.Waiting.Mean, 0.001)
	require.Equal(t, 2, r.Replayed.Matches)
	require.InDelta(t, 150, r.Replayed.Quality[0].Values.Mean, 0.001)
}

// A player who cancelled is not matched after that, and one who was matched then waits on: that is what censored
// counts.
func TestWhoLeftAndWhoIsCensored(t *testing.T) {
	t.Parallel()
	quit := at(0, "ada", 1000)
	quit.LeftAt, quit.Why = begin.Add(2*time.Second), replay.Quit
	r := run(t, duel, nil, quit, matched(at(3, "bo", 1000), "m", true, 4), matched(at(3.5, "cy", 1500), "m", false, 4))
	require.Equal(t, replay.Unmatched{Quit: 1, Waiting: 2}, r.Replayed.NeverMatched)
	require.Equal(t, 2, r.Censored)
	require.Equal(t, 2, r.Recorded.Matched)
	require.Equal(t, "m", r.Reproduced.First.Match)
	require.Equal(t, "the replay matched the ticket with nobody", r.Reproduced.First.Why)
	r.Reproduced.First = nil
	require.Equal(t, replay.Reproduced{Of: 1, SameRules: 1, Owners: 1}, *r.Reproduced)
}

// A recorded match counts as reproduced with exactly its tickets, and no others.
func TestReproducedMatches(t *testing.T) {
	t.Parallel()
	r := run(t, duel, nil,
		matched(at(0, "ada", 1000), "m", true, 1), matched(at(1, "bo", 1000), "m", false, 1),
		matched(at(2, "cy", 1000), "n", true, 4), matched(at(3, "di", 1000), "o", true, 4))
	require.Equal(t, begin.Add(4*time.Second), r.Reproduced.First.Decided)
	require.Equal(t, "the replay matched the ticket with di, 1s earlier; the worker decided later, or could not commit that match", r.Reproduced.First.Why)
	require.Equal(t, [4]int{1, 3, 3, 1}, [4]int{r.Reproduced.Matches, r.Reproduced.Of, r.Reproduced.SameRules, r.Reproduced.FromSame})
}

// The first match that differs is named with what the replay did instead and what is known of the cause; nothing is
// named if all are reproduced.
func TestTheFirstDifference(t *testing.T) {
	t.Parallel()
	quit := at(2, "cy", 1000)
	quit.LeftAt, quit.Why = begin.Add(2040*time.Millisecond), replay.Quit
	r := run(t, duel, nil, matched(at(1, "ada", 1000), "m", true, 3), quit, matched(at(3, "bo", 1000), "m", false, 3),
		matched(at(4, "di", 1000), "n", true, 5), matched(at(5, "el", 1000), "n", false, 5))
	require.Equal(t, "ada", r.Reproduced.First.Ticket)
	require.Equal(t, "the replay matched the ticket with cy, 1s earlier; cy left the queue 40ms after that, and the history does not record when the worker learned of it",
		r.Reproduced.First.Why)
	other := matched(at(1, "bo", 1000), "m", false, 1)
	other.Recorded.Team = "green"
	r = run(t, duel, nil, matched(at(0, "ada", 1000), "m", true, 1), other)
	require.Equal(t, "the replay put the same tickets into other teams", r.Reproduced.First.Why)
	r = run(t, duel, func(in *replay.Input) { in.Seed = 8 }, matched(at(0, "ada", 1000), "m", true, 1), at(0.5, "bo", 1000), matched(at(1, "cy", 1000), "m", false, 1))
	require.Contains(t, r.Reproduced.First.Why, "with bo, 500ms earlier; another worker, or one that began anew, made the recorded match")
	r = run(t, duel, nil, matched(at(0, "ada", 1000), "m", true, 1), matched(at(1, "bo", 1000), "m", false, 1))
	require.Nil(t, r.Reproduced.First)
}

// A worker that does not know yet that a ticket has left decides a match with it, which cannot be committed; the others
// are candidates again when it learns of it. Pins replays that ended a cancelled ticket's part in searches when it
// left.
func TestAMatchWithATicketThatHasLeft(t *testing.T) {
	t.Parallel()
	quit := at(0, "ada", 1000)
	quit.Why, quit.LeftAt, quit.LeftSeen = replay.Quit, begin.Add(900*time.Millisecond), begin.Add(1100*time.Millisecond)
	r := run(t, duel, nil, quit, matched(at(1, "bo", 1000), "m", true, 1.1), matched(at(1.05, "cy", 1000), "m", false, 1.1))
	require.Nil(t, r.Reproduced.First)
	require.Equal(t, 1, r.Reproduced.FromSame)
	require.InDelta(t, 0.1, r.Replayed.Waiting.Max, 0.001, "bo was in the match with ada until then")
	require.Equal(t, replay.Unmatched{Quit: 1}, r.Replayed.NeverMatched)

	quit.LeftAt = begin.Add(1050 * time.Millisecond) // after that match
	r = run(t, duel, nil, quit, at(1, "bo", 1000))
	require.Equal(t, 2, r.Replayed.Matched)
}

// A party that declined in the past declines its first match, and the other one is matched again after the ready check.
func TestAReadyCheckFails(t *testing.T) {
	t.Parallel()
	declines := at(0, "ada", 1000)
	declines.Why, declines.LeftAt = replay.Declined, begin.Add(5*time.Second)
	document := "accept: {within: 20s}\n" + duel
	r := run(t, document, nil, declines, at(1, "bo", 1000), at(2, "cy", 1000))
	require.Equal(t, replay.Unmatched{Declined: 1}, r.Replayed.NeverMatched)
	require.InDelta(t, 20, r.Replayed.Waiting.Max, 0.001, "bo is back after 20 s")
	r = run(t, document, func(in *replay.Input) { in.Accept = replay.Accept{Drawn: true, Rate: 0} }, at(1, "bo", 1000), at(2, "cy", 1000))
	require.Equal(t, replay.Unmatched{Declined: 2}, r.Replayed.NeverMatched)
}

// While no server of its game region has room, a match waits; the end of each shortage seats one, the last all.
func TestCapacityAsRecorded(t *testing.T) {
	t.Parallel()
	tickets := []replay.Arrival{at(1, "ada", 1000), at(1, "bo", 1000), at(2, "cy", 1000), at(2, "di", 1000)}
	for i := range tickets {
		tickets[i].Ticket.Latencies = map[string]uint16{"eu": 20}
	}
	r := run(t, duel, func(in *replay.Input) {
		in.Regions = []string{"eu"}
		in.Capacity = replay.Capacity{Recorded: true, Shortages: []replay.Shortage{
			{Region: "eu", Begin: begin, End: begin.Add(11 * time.Second)}, {Region: "eu", Begin: begin, End: begin.Add(22 * time.Second)},
		}}
	}, tickets...)
	require.Equal(t, 4, r.Replayed.Matched)
	require.InDelta(t, 15, r.Replayed.Waiting.Mean, 0.001)
}

// The same input has the same report, to the byte.
func TestTheSameSeedHasTheSameReport(t *testing.T) {
	t.Parallel()
	o := simulate.Defaults()
	o.Profile, o.Hours, o.Skill.Bimodal = must.Get(profile.Parse([]byte(profiles["1v1"])))(t), 0.05, true
	texts := map[string]bool{}
	for range 3 {
		text, err := json.Marshal(simulated(t, o))
		require.NoError(t, err)
		texts[string(text)] = true
	}
	require.Len(t, texts, 1)
	o.Seed = 2
	other, err := json.Marshal(simulated(t, o))
	require.NoError(t, err)
	require.NotContains(t, texts, string(other))
}

func TestWhatCannotBeReplayed(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*replay.Input){
		"function": func(in *replay.Input) {
			in.Version.Profile = must.Get(profile.Parse([]byte("name: f\nfunction: {host: f, port: 1, type: grpc}\n")))(t)
		},
		"end after":  func(in *replay.Input) { in.End = in.Begin },
		"rate of ac": func(in *replay.Input) { in.Accept.Rate = 2 },
		"broken": func(in *replay.Input) {
			in.Arrivals = func(yield func(replay.Arrival, error) bool) { yield(replay.Arrival{}, fmt.Errorf("broken")) }
		},
	} {
		in := replay.Input{Version: decide.Version{Profile: must.Get(profile.Parse([]byte(duel)))(t)}, Begin: begin, End: begin.Add(time.Hour), Arrivals: withoutErrors(nil)}
		change(&in)
		_, err := replay.Run(t.Context(), in)
		require.ErrorContains(t, err, want)
	}
}

func withoutErrors(arrivals []replay.Arrival) iter.Seq2[replay.Arrival, error] {
	return func(yield func(replay.Arrival, error) bool) {
		for _, a := range arrivals {
			if !yield(a, nil) {
				return
			}
		}
	}
}
