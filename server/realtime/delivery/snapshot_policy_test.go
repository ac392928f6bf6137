package delivery

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/lobby"
)

var kinds = rapid.SampledFrom([]lobby.ChecksumKind{lobby.ChecksumSafe, lobby.ChecksumLocal, lobby.ChecksumNone})

// Clients, by the states of which they compute another checksum than the director.
var (
	americans  = func(kind lobby.ChecksumKind) bool { return kind == lobby.ChecksumNone }
	foreigners = func(kind lobby.ChecksumKind) bool { return kind != lobby.ChecksumSafe }
	faulty     = func(lobby.ChecksumKind) bool { return true }
)

// play changes the room, delivers messages and lets time pass, in any order.
func play(t *rapid.T, l *line, more map[string]func(*rapid.T)) {
	actions := map[string]func(*rapid.T){
		"change": func(t *rapid.T) { l.change(kinds.Draw(t, "kind")) },
		"burst": func(t *rapid.T) {
			for range rapid.IntRange(1, 2*maxHeld).Draw(t, "changes") {
				l.change(lobby.ChecksumSafe)
			}
		},
		"deliver": func(*rapid.T) { l.deliver(0) },
		"hear":    func(*rapid.T) { l.hear() },
		"wait":    func(t *rapid.T) { l.wait(time.Duration(rapid.IntRange(1, 3000).Draw(t, "ms")) * time.Millisecond) },
		"": func(t *rapid.T) {
			require.LessOrEqual(t, len(l.held), maxHeld)
			requireNoStorm(t, l.forced)
		},
	}
	maps.Copy(actions, more)
	t.Repeat(actions)
	l.settle()
	require.Equal(t, l.seq(), l.client.seq, "the client is not stale")
	requireNoStorm(t, l.forced)
}

// requireNoStorm checks that no more snapshots were forced than the loop breaker allows.
func requireNoStorm(t *rapid.T, forced []time.Time) {
	for i := maxForced; i < len(forced); i++ {
		first := forced[i-maxForced]
		if forced[i].Sub(first) < forcedWindow {
			require.GreaterOrEqual(t, forced[i].Sub(forced[i-1]), forcedPause)
		}
	}
}

func TestAClientNeverNeedsAResyncOnAnOrderlyWire(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := newLine(modelClient{wrong: americans}, kinds.Draw(t, "first"))
		play(t, l, nil)
		require.Zero(t, l.client.resyncs)
		require.Empty(t, l.forced)
	})
}

func TestAClientOfAnotherLocaleNeedsOneResync(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := newLine(modelClient{wrong: foreigners}, kinds.Draw(t, "first"))
		play(t, l, map[string]func(*rapid.T){"wait": func(*rapid.T) {
			l.exchange() // in less than maxGate
			l.wait(time.Second)
		}})
		require.LessOrEqual(t, l.client.resyncs, 1)
	})
}

func TestAScriptThatNeverAcksGetsEverything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := newLine(modelClient{silent: true}, kinds.Draw(t, "first"))
		play(t, l, nil)
		require.Empty(t, l.forced)
	})
}

// The wire is a browser's, the outbox overflows, and the client asks for snapshots without a reason.
func TestNoClientStaysStaleAndNoStormIsUnbounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		client := rapid.SampledFrom([]func(lobby.ChecksumKind) bool{americans, foreigners, faulty}).Draw(t, "client")
		l := newLine(modelClient{wrong: client}, kinds.Draw(t, "first"))
		play(t, l, map[string]func(*rapid.T){
			"deliver the second": func(*rapid.T) { l.deliver(1) },
			"overflow":           func(*rapid.T) { l.overflow() },
			"resync":             func(*rapid.T) { l.client.resync(l) },
			"ack": func(t *rapid.T) {
				l.up = append(l.up, said{seq: rapid.Int64Range(0, l.seq()+1).Draw(t, "seq"), checksum: "made up"})
			},
		})
	})
}

// Nexis' own cadence makes its SDK ask for 180 resyncs here.
func TestABurstOf200ChangesNeedsNoResync(t *testing.T) {
	t.Parallel()
	l := newLine(modelClient{}, lobby.ChecksumSafe)
	for range 200 {
		l.change(lobby.ChecksumSafe)
		l.deliver(0)
		l.hear()
	}
	l.settle()
	require.Equal(t, int64(201), l.client.seq)
	require.Zero(t, l.client.resyncs)
}

func TestPatchesWaitForTheAckOfASnapshot(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	safe := func() (string, lobby.ChecksumKind) { return "sum", lobby.ChecksumSafe }
	var f snapshotPolicy
	open, opens := f.isOpen(now)
	require.False(t, open, "before the first snapshot")
	require.Zero(t, opens)
	require.True(t, f.noteSnapshot(now, 7, lobby.ChecksumSafe))
	open, opens = f.isOpen(now)
	require.False(t, open)
	require.Equal(t, now.Add(2*time.Second), opens)
	require.False(t, f.takeAck(now, 6, "", 7, safe), "of what came before the snapshot")
	open, _ = f.isOpen(now)
	require.False(t, open)
	require.False(t, f.takeAck(now, 7, "sum", 7, safe))
	open, _ = f.isOpen(now)
	require.True(t, open)
	f.noteSnapshot(now, 8, lobby.ChecksumSafe)
	open, _ = f.isOpen(now.Add(2 * time.Second))
	require.True(t, open, "not every client acks")
}

func TestAcksThatForceASnapshot(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	sum := func(kind lobby.ChecksumKind) func() (string, lobby.ChecksumKind) {
		return func() (string, lobby.ChecksumKind) { return "sum", kind }
	}
	for _, c := range []struct {
		why      string
		seq      float64
		checksum string
		kind     lobby.ChecksumKind
		again    bool
	}{
		{"as ours", 7, "sum", lobby.ChecksumSafe, false},
		{"without a checksum", 7, "", lobby.ChecksumSafe, false},
		{"from the future", 8, "", lobby.ChecksumSafe, true},
		{"a wrong checksum", 7, "other", lobby.ChecksumSafe, true},
		{"a wrong one of en-US", 7, "other", lobby.ChecksumLocal, true},
		{"a checksum that does not count", 7, "other", lobby.ChecksumNone, false},
		{"a checksum of an older state", 6, "other", lobby.ChecksumSafe, false},
		{"older than the last ack", 4, "", lobby.ChecksumSafe, true},
	} {
		var f snapshotPolicy
		f.noteSnapshot(now, 5, c.kind)
		f.takeAck(now, 5, "", 5, sum(c.kind))
		require.Equal(t, c.again, f.takeAck(now, c.seq, c.checksum, 7, sum(c.kind)), c.why)
		open, _ := f.isOpen(now)
		require.Equal(t, !c.again, open, c.why)
	}
}

// Scripts ask three times for a snapshot of the same state, and want a checksum in each.
func TestFiveSnapshotsMayBeForcedAtOnce(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	var f snapshotPolicy
	require.True(t, f.noteSnapshot(now, 1, lobby.ChecksumSafe))
	force := func() (wait time.Duration, checksum bool) {
		f.noteResync()
		wait = f.dueIn(now)
		now = now.Add(wait)
		return wait, f.noteSnapshot(now, 1, lobby.ChecksumSafe)
	}
	for range maxForced {
		wait, checksum := force()
		require.Zero(t, wait)
		require.True(t, checksum)
	}
	for range 3 {
		wait, checksum := force()
		require.Equal(t, forcedPause, wait)
		require.False(t, checksum)
		require.False(t, f.takeAck(now, 1, "other", 1,
			func() (string, lobby.ChecksumKind) { return "sum", lobby.ChecksumSafe }))
	}
	now = now.Add(forcedWindow)
	wait, checksum := force()
	require.Zero(t, wait)
	require.True(t, checksum, "the storm is over")
}

func TestAResyncAfterAnEnglishChecksumEndsThem(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	var f snapshotPolicy
	require.True(t, f.noteSnapshot(now, 1, lobby.ChecksumLocal))
	f.noteResync()
	require.False(t, f.noteSnapshot(now, 1, lobby.ChecksumLocal))
	require.False(t, f.takeAck(now, 1, "other", 1,
		func() (string, lobby.ChecksumKind) { return "sum", lobby.ChecksumLocal }))
	require.True(t, f.noteSnapshot(now, 2, lobby.ChecksumSafe), "others are right in each locale")

	f = snapshotPolicy{}
	require.True(t, f.noteSnapshot(now, 1, lobby.ChecksumLocal))
	f.takeAck(now, 1, "sum", 1, func() (string, lobby.ChecksumKind) { return "sum", lobby.ChecksumLocal })
	f.noteResync()
	require.True(t, f.noteSnapshot(now, 1, lobby.ChecksumLocal), "it asks for another reason")
}

// Pins a script that never acks in a room that changes often: it was sent a snapshot in two seconds, and no patch.
func TestAScriptThatNeverAcksGetsPatchesOfABusyRoom(t *testing.T) {
	t.Parallel()
	l := newLine(modelClient{silent: true}, lobby.ChecksumSafe)
	for range 1000 {
		l.change(lobby.ChecksumSafe)
		l.wait(10 * time.Millisecond)
	}
	patches, snapshots := 0, 0
	for _, p := range l.down {
		if p.snapshot {
			snapshots++
		} else {
			patches++
		}
	}
	require.Greater(t, patches, 700, "with %d snapshots", snapshots)
	require.Less(t, snapshots, 10)
}
