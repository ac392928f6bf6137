package faults

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/server/realtime/realtimetest"
	"github.com/lattice-director/director/test/rigtest"
)

const (
	restartLobby = "lobby:waiting"
	restartChat  = "chat:town"
	restartAlone = "alone" // the match for which some wait without a room
	backWithin   = 5 * time.Second
)

// regular is a player whose game is restarted again and again: each time it has a new session. It is for one goroutine.
type regular struct {
	rig    *rig
	name   string
	party  string // the player's party, which has a match; "": the player waits alone for one
	match  string // the room of the match
	client *realtimetest.Client

	restarts int
	slowest  time.Duration // from the end of a game to the next one's places
}

// rooms returns the rooms that the player is in besides the match's, by their type.
func (p *regular) rooms() map[string]string {
	if p.party == "" {
		return map[string]string{"chat": restartChat}
	}
	return map[string]string{"chat": restartChat, "party": p.party, "lobby": restartLobby}
}

// restart ends the game, and starts it again until it has all its places.
func (p *regular) restart(ctx context.Context, url string) error {
	violations := p.client.Violations(false)
	p.client.Drop()
	if len(violations) > 0 {
		return fmt.Errorf("%s: %v", p.name, violations)
	}
	began := time.Now()
	for {
		err := p.comeBack(ctx, url)
		if err == nil {
			break
		}
		if time.Since(began) >= backWithin {
			return fmt.Errorf("%s is not back: %w", p.name, err)
		}
		pause(ctx, 20*time.Millisecond)
	}
	p.restarts++
	p.slowest = max(p.slowest, time.Since(began))
	return nil
}

// comeBack connects a new client, and takes all places of the player.
func (p *regular) comeBack(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	c, err := realtimetest.Connect(ctx, realtimetest.Options{URL: url, Token: rigtest.LobbyToken(p.name), Late: true})
	if err != nil {
		return err
	}
	if err := p.takePlaces(ctx, c); err != nil {
		c.Drop()
		return err
	}
	p.client = c
	return nil
}

func (p *regular) takePlaces(ctx context.Context, c *realtimetest.Client) error {
	for kind, room := range p.rooms() {
		if err := joinAs(ctx, c, kind, room); err != nil {
			return err
		}
	}
	if p.party == "" {
		return waitAlone(ctx, c)
	}
	isNotified := func(v *realtimetest.View) bool { return v.Count("match.found", p.match) == 1 }
	if err := c.Await(ctx, "match.found", isNotified); err != nil {
		return err
	}
	return joinAs(ctx, c, "duel", p.match)
}

// waitAlone queues for a match that never has enough players.
func waitAlone(ctx context.Context, c *realtimetest.Client) error {
	return refusal(c.RPC(ctx, "matchmaking.enqueue", "", map[string]any{"roomType": restartAlone, "size": 16}))
}

func joinAs(ctx context.Context, c *realtimetest.Client, kind, room string) error {
	return refusal(c.RPC(ctx, "room.join_or_create", room,
		map[string]any{"roomType": kind, "options": map[string]any{}}))
}

// refusal returns the error of a call, or an answer that is no success as one.
func refusal(answer realtimetest.Response, err error) error {
	if err != nil {
		return err
	}
	if !answer.OK() {
		return fmt.Errorf("refused: %v", answer)
	}
	return nil
}

// Replicas are killed while the games of all players are restarted, again and again. Each player is back in its party,
// its room and its match within seconds; nobody loses a place: the parties have their owners, and the lobby that waits
// for a match has waited all the time.
func TestRestartedGamesLoseNoPlace(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestSessionsSurviveTheirReplica")
	r := newLobbyRig(t, "DIRECTOR_REALTIME_SESSION_TTL=10s")
	replicas := []*rigtest.LobbyReplica{r.ServeLobby("--work"), r.ServeLobby(), r.ServeLobby()}
	address := rigtest.NewBalancer(t)
	for _, at := range replicas {
		address.AddAddr(strings.TrimPrefix(at.Lobby, "ws://"))
	}
	players := r.makeRegulars(replicas[0], 8)
	ticket := one[string](r, "SELECT DISTINCT ticket FROM realtime_tickets WHERE lobby IS NOT NULL")
	var alone []*regular // in a chat, each waits for a match
	for i := range 2 {
		p := &regular{rig: r, name: fmt.Sprint("loner-", i)}
		p.client = replicas[0].Connect(t, p.name)
		p.client.Join(t, "chat", restartChat, map[string]any{"private": false})
		require.NoError(t, waitAlone(t.Context(), p.client))
		alone = append(alone, p)
	}
	places := r.places(alone)

	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
	defer cancel()
	var running sync.WaitGroup
	for i, p := range slices.Concat(players, alone) {
		running.Go(func() {
			for pause(ctx, time.Duration(i)*100*time.Millisecond); ctx.Err() == nil; pause(ctx, 2*time.Second) {
				if err := p.restart(t.Context(), "ws://"+address.ListenAddr()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for kills := 0; ctx.Err() == nil; kills++ {
		i := 1 + kills%2 // the first has the workers
		replicas[i].Process.Process.Kill()
		replicas[i] = r.ServeLobby()
		address.AddAddr(strings.TrimPrefix(replicas[i].Lobby, "ws://"))
		pause(ctx, 2*time.Second)
	}
	running.Wait()
	for _, p := range slices.Concat(players, alone) {
		require.NoError(t, p.restart(t.Context(), "ws://"+address.ListenAddr())) // the last kill may have cut it off
	}
	r.RequireInvariants()
	var slowest time.Duration
	for i, p := range players {
		slowest = max(slowest, p.slowest)
		require.Greater(t, p.restarts, 3)
		for _, room := range append(slices.Collect(maps.Values(p.rooms())), p.match) {
			require.Equal(t, 1, one[int](r, `SELECT count(*)::int FROM lobby_members m JOIN lobbies l ON l.region = m.region AND l.uid = m.lobby
				WHERE l.id = $1 AND m.player = $2 AND m.session = $3 AND m.state = 'joined'`, room, p.name, p.client.SessionID()), "%s in %s", p.name, room)
		}
		owner := one[string](r, "SELECT state->>'owner' FROM lobbies WHERE id = $1", p.party)
		require.Equal(t, i%2 == 0, owner == p.client.SessionID(), "the owner of %s", p.party)
	}
	require.Equal(t, players[0].client.SessionID(),
		one[string](r, "SELECT state->>'owner' FROM lobbies WHERE id = $1", restartLobby))
	require.Equal(t, "queued", one[string](r, "SELECT state->>'phase' FROM lobbies WHERE id = $1", restartLobby))
	require.Equal(t, ticket, one[string](r,
		"SELECT DISTINCT ticket FROM realtime_tickets WHERE lobby IS NOT NULL"))
	require.Equal(t, len(players), one[int](r,
		"SELECT count(DISTINCT session)::int FROM realtime_tickets WHERE ticket = $1", ticket))
	require.Zero(t, one[int](r, "SELECT count(*)::int FROM tickets WHERE paused_at IS NOT NULL"), "all are there")
	t.Logf("the slowest of all restarts took %v", slowest)
	require.Equal(t, places, r.places(alone), "those who wait alone have their tickets")
}

// makeRegulars makes players who are in a chat and in a lobby that waits for a match, and in parties of two with
// matches of four.
func (r *rig) makeRegulars(at *rigtest.LobbyReplica, n int) (players []*regular) {
	r.T.Helper()
	public := map[string]any{"private": false}
	for i := range n {
		p := &regular{rig: r, name: fmt.Sprint("regular-", i), party: fmt.Sprint("party:", i/2)}
		p.client = at.Connect(r.T, p.name)
		for kind, room := range p.rooms() {
			p.client.Join(r.T, kind, room, public)
		}
		p.client.Tell(r.T, restartLobby, "ready", map[string]any{"ready": true})
		players = append(players, p)
	}
	first := players[0].client
	first.Wait(r.T, "the lobby", func(v *realtimetest.View) bool { return len(v.Room(restartLobby).Members) == n })
	for _, p := range players {
		require.Eventually(r.T, func() bool { // a ready that is under way
			m, _ := first.Room(restartLobby).State["m:"+p.client.SessionID()].(map[string]any)
			return m["ready"] == true
		}, 20*time.Second, 10*time.Millisecond)
	}
	for i := 0; i < n; i += 2 {
		players[i].client.Must(r.T, "room.message", players[i].party,
			map[string]any{"type": "queue", "data": map[string]any{"room_type": "duel", "size": 4}})
	}
	for _, p := range players {
		p.client.Wait(r.T, "match.found", func(v *realtimetest.View) bool { return v.Count("match.found", "") == 1 })
		p.match = p.client.Join(r.T, "duel", foundMatches(p.client)[0], nil)
	}
	first.Must(r.T, "room.message", restartLobby,
		map[string]any{"type": "start", "data": map[string]any{"room_type": "waits", "size": 16}})
	return players
}

// places returns the tickets with which the present sessions of players wait, in the order of the queue.
func (r *rig) places(players []*regular) (tickets []string) {
	r.T.Helper()
	for _, p := range players {
		tickets = append(tickets, one[string](r, `SELECT ticket || ' ' || queued_at::text FROM realtime_tickets WHERE session = $1 AND room_type = $2`, p.client.SessionID(), restartAlone))
	}
	return tickets
}
