package server_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/anypb"

	openmatch "github.com/lattice-director/director/api/openmatch/pb"
	ticketpb "github.com/lattice-director/director/api/ticket/pb"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime"
)

// The player that is erased, what only this player has, and a session of it in the realtime lobby.
const (
	erasable   = `zoe"<&7Kq>`
	secretClan = "clan-Wv93"
	lobbySeat  = "rt-session-of-zoe"
)

// planted is an installation in which the player is known to every face.
type planted struct {
	*bundle

	rooms *lobby.Types
}

// plantErasable lets the player and friends use every face.
func plantErasable(b *bundle, rooms *lobby.Types) {
	p := planted{b, rooms}
	p.store.Exec(`SELECT ops.record_events(n, true) FROM unnest(ARRAY['seat', 'ticket', 'match']) n`)
	p.store.Exec(`SELECT ops.create_webhook('studio', 'https://studio.example/hook', '{*}')`)
	me := p.register("a", func(f fields) { f["modes"] = []string{"duel", "match", "ask", "solo"} })
	// The backend knows the player.
	p.backend(http.MethodPut, "players/"+url.PathEscape(erasable),
		fields{"attributes": fields{"clan": secretClan}, "avoid": []string{"rude"},
			"may_party_with": []string{"mate"}}).ok(http.StatusOK)
	p.backend(http.MethodPut, "players/mate",
		fields{"attributes": fields{"clan": "red"}, "avoid": []string{"rude"},
			"may_party_with": []string{erasable, "bo"}}).ok(http.StatusOK)
	p.backend(http.MethodPut, "players/prude", fields{"avoid": []string{erasable, "rude"}}).ok(http.StatusOK)
	p.backend(http.MethodPut, "players/bo", fields{"may_party_with": []string{erasable}}).ok(http.StatusOK)
	p.plays(me)
	p.matchmake(erasable, duel.with("mode", "nobody-offers-this")).problem(http.StatusConflict, "mode_unknown")
	p.ticketCall("ivy", http.MethodPost, "",
		fields{"party": []string{"ivy", erasable},
			"players": fields{erasable: fields{"attributes": fields{"a": fields{}}}}}).problem(http.StatusBadRequest,
		"invalid_request")
	require.Eventually(p.t, func() bool { return p.store.Count(`SELECT count(*) FROM player_refusals`) >= 3 }, wait,
		tick)
	p.queues()
	p.isInALobby()
	// It is in tickets of clients of Open Match, one of which is assigned.
	details := must.Get(anypb.New(&ticketpb.TicketDetails{Players: []*ticketpb.Player{{Sub: erasable,
		Attributes: map[string]*ticketpb.Value{"clan": {Kind: &ticketpb.Value_Text{Text: secretClan}}}},
		{Sub: "cy"}}}))(p.t)
	hers := &openmatch.Ticket{Extensions: map[string]*anypb.Any{ticketbody.TicketExtension: details}}
	p.foreignTicket(hers)
	p.assign(p.foreignTicket(hers), assignmentTo("203.0.113.7:7777"))
	must.Get(p.store.As("console:ada").FreeSeat(p.t.Context(), storetest.One[string](p.store,
		`SELECT region || '.' || id FROM sessions WHERE mode = 'solo' LIMIT 1`), lobbySeat, "stuck"))(p.t)
	again := p.matchmake(erasable, duel.with("mode", "solo").with("max_players", 4)).ok(http.StatusOK)
	must.Get(p.store.As("console:ada").FreeSeat(p.t.Context(), again["session_id"].(string), erasable,
		erasable+" asked for it"))(p.t)
	p.matchmake(lobbySeat, duel.with("mode", "solo").with("max_players", 4)).ok(http.StatusOK)
	p.othersAreInProgress()
}

// plays has had a seat, alone and with others, and has one now, as the one who reserved it for somebody else.
func (p planted) plays(me fields) {
	alone := duel.with("mode", "solo").with("max_players", 4)
	past := p.matchmake(erasable, alone, header("Idempotency-Key", "first")).ok(http.StatusOK)
	p.resolve(erasable, past["session_handle"]).ok(http.StatusOK)
	report := me.with("session_id", past["session_id"])
	p.fleet("seats", report.with("joined", joined(erasable, "j1"))).ok(http.StatusOK)
	p.matchmake("mate", alone).ok(http.StatusOK) // so that the session goes on
	p.fleet("seats", report.with("left", []string{erasable})).ok(http.StatusOK)
	now := p.matchmake(erasable, duel.with("party", []string{erasable, "mate"}).with("max_players", 4),
		header("Idempotency-Key", "second")).ok(http.StatusOK)
	p.matchmake("mate", duel.with("party", []string{erasable, "mate"}).with("max_players", 4),
		header("Idempotency-Key", "third"))
	p.resolve(erasable, now["session_handle"]).ok(http.StatusOK)
	p.resolve("mate", now["session_handle"]).ok(http.StatusOK)
	// refused, with a text that names the player
	require.Contains(p.t, string(p.matchmake("eve",
		duel.with("max_players", 4).with("party", []string{"eve", erasable})).body), "holds a seat elsewhere")
	p.fleet("seats", me.with("session_id", now["session_id"]).with("joined",
		joined(erasable, "j2", "mate", "j3"))).ok(http.StatusOK)
}

// queues has a ticket that waits, one that was cancelled, one that is asked to accept, and one that was matched.
func (p planted) queues() {
	p.profile("ranked", ranked+"latency_jump: 40ms\n")
	p.profile("asked", "name: asked\nmode: ask\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\naccept: {within: 45s}\n")
	p.profile("pairs", "name: pairs\nmode: match\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\nattributes: {clan: {type: string}}\ntell: [clan]\n")
	stop := p.worker()
	hers := fields{"attributes": fields{"clan": secretClan}}
	matched := p.queue(erasable, fields{"profiles": []string{"pairs"}, "players": fields{erasable: hers}})
	p.queue("mate", fields{"profiles": []string{"pairs"}, "attributes": fields{"clan": "red"}})
	p.await(erasable, matched, "assigned")
	asked := p.queue(erasable, fields{"profiles": []string{"asked"}})
	p.queue("bo", fields{"profiles": []string{"asked"}})
	p.await(erasable, asked, "accepting")
	p.ticketCall(erasable, http.MethodPost, "/"+asked+"/accept", nil).ok(http.StatusOK)
	stop()
	together := fields{"profiles": []string{"ranked"}, "party": []string{erasable, "cy"},
		"players": fields{erasable: hers}}
	cancelled := p.queue(erasable, together)
	p.ticketCall("cy", http.MethodDelete, "/"+cancelled, nil).ok(http.StatusOK)
	alone := p.queue(erasable, fields{"profiles": []string{"ranked"}, "attributes": fields{"clan": secretClan},
		"latencies": fields{"eu": 31}})
	p.ticketCall(erasable, http.MethodDelete, "/"+alone, nil).ok(http.StatusOK)
	p.queue(erasable, together)
	// as a worker with DIRECTOR_MATCH_HISTORY_ATTRIBUTES=hashed has it
	p.store.Exec(`INSERT INTO ticket_history (region, id, created, profiles, party, attributes, outcome) VALUES ('global', 'hashed', now(), '{ranked}', $1,
		jsonb_build_object(($1::text[])[1], '{"clan": "0123456789abcdef"}'::jsonb), 'expired')`, ticketbody.Hashed.Party([]string{erasable}))
}

// isInALobby is in a room, and in another one's state, lists, places, messages and invitations.
func (p planted) isInALobby() {
	p.store.Exec(`INSERT INTO projects (id, name, region) VALUES ('p', 'p', 'eu')`)
	for id, player := range map[string]string{lobbySeat: erasable, "s-mate": "mate"} {
		p.store.AddClient("p", id, player)
	}
	say := func(session, player, room, kind, data string) {
		p.store.ActInRoom("p", room, session, p.rooms.HandleMessage(lobby.Message{Session: session, Player: player,
			Type: kind,
			Data: json.RawMessage(data)}))
	}
	join := func(session, player, room, kind string) {
		p.store.ActInRoom("p", room, session, p.rooms.JoinRoom(lobby.Join{RoomType: kind, Session: session,
			Player: player}))
	}
	join("s-mate", "mate", "lobby:1", "lobby")
	join(lobbySeat, erasable, "lobby:1", "lobby")
	say(lobbySeat, erasable, "lobby:1", "say", `{"text": "we are `+secretClan+`"}`)
	p.store.Exec(`INSERT INTO lobby_sayings (region, lobby, slot, number, at, session, player, data) SELECT region, uid, 49, 49, now(), $1, $2, '{"text": "I am' || $3::text || '"}' FROM lobbies WHERE id = 'lobby:1'`,
		lobbySeat, erasable, secretClan)
	join("s-mate", "mate", "lobby:2", "lobby")
	say("s-mate", "mate", "lobby:2", "invite", `{"player": `+quoted(erasable)+`}`)
	join(lobbySeat, erasable, "lobby:3", "lobby")
	say(lobbySeat, erasable, "lobby:3", "invite", `{"player": "mate"}`)
	p.ops(http.MethodPost, "lobby/ban", fields{"project": "p", "room": "lobby:2", "player": erasable,
		"reason": "asked by " + erasable}).ok(http.StatusOK)
	p.ops(http.MethodPost, "lobby/change",
		fields{"project": "p", "room": "lobby:2", "metadata": fields{"host": erasable}}).ok(http.StatusOK)
	p.store.Exec(`UPDATE lobbies SET state = jsonb_build_object('votes', jsonb_build_object($1::text, 1, 'mate', 2), 'named', jsonb_build_array($1::text))::json WHERE id = 'lobby:2'`, erasable)
	p.store.Exec(`UPDATE lobbies SET match_id = gen_random_uuid(), participants = ARRAY[$2, 's-mate'], participant_players = ARRAY[$1, 'mate'], participant_seats = ARRAY[$1, 'mate'] WHERE id = 'lobby:2'`, erasable, lobbySeat)
	require.NoError(p.t, p.store.BlockPlayer(p.t.Context(),
		db.PlayerBlock{Region: "eu", Project: "p", Player: erasable, Blocked: "rude"}))
	require.NoError(p.t, p.store.BlockPlayer(p.t.Context(),
		db.PlayerBlock{Region: "eu", Project: "p", Player: "bo", Blocked: erasable}))
	for from, to := range map[string]string{erasable: "mate", "mate": erasable} {
		must.Get(p.store.SendToPlayer(p.t.Context(),
			db.NewPlayerMessage{Region: "eu", ProjectID: "p", Recipient: to, FromSession: "s-mate", FromPlayer: from,
				Type: "hi", Data: json.RawMessage(quoted(secretClan))}))(p.t)
	}
	must.Get(p.store.EnqueueRealtime(p.t.Context(),
		db.RealtimeEnqueueRequest{Region: "eu", ProjectID: "p", Session: db.SessionEpoch{ID: lobbySeat, Epoch: 1},
			Player: erasable,
			Queue:  lobby.Queue{RoomType: "duel", MatchSize: 2, Attributes: json.RawMessage(`{"clan": ` + quoted(secretClan) + `}`)}}))(p.t)
	// a seat of a match of the lobby's own profiles, whose player is the session
	p.matchmake(lobbySeat, duel.with("mode", "solo").with("max_players", 4)).ok(http.StatusOK)
}

// foreignTicket creates a ticket as a client of Open Match, and returns its id.
func (b *bundle) foreignTicket(ticket *openmatch.Ticket) string {
	b.t.Helper()
	made := must.Get(openmatch.NewFrontendServiceClient(b.grpcConn()).CreateTicket(b.t.Context(),
		&openmatch.CreateTicketRequest{Ticket: ticket}))(b.t)
	return made.GetId()
}

// othersAreInProgress is what other processes have begun: a place in a login queue, a request that waits for a server, a connect token, a letter.
func (p planted) othersAreInProgress() {
	p.addApp("arena", "race", 8, "", "")
	p.addPool("arena", "race")
	must.Get(p.store.PutWaiting(p.t.Context(), "request", time.Minute,
		[]db.Waiting{{Region: "eu", Mode: "race", Player: erasable, Party: []string{erasable, "mate"},
			MaxPlayers: 2}}))(p.t)
	p.store.Exec(`INSERT INTO valves (name, region, mode, rate, staff_share, max_waiting, set_by) VALUES ('launch', 'nowhere', 'limited', 1, 0, 10, 'ada')`)
	p.store.Exec(`INSERT INTO login_queues (valve, players) VALUES ('launch', 1) ON CONFLICT (valve) DO UPDATE SET players = 1`)
	p.store.Exec(`INSERT INTO admissions (valve, sub, place, admitted_at, expires_at) VALUES ('launch', $1, 1, now(), now() + interval '1 hour')`, erasable)
	p.store.Exec(`WITH e AS (INSERT INTO evacuations (target, value, region, requeue, dead, seats_in, lost_since, actor, reason) VALUES ('region', 'us', 'us', true, false, '', now(), 'ada', '') RETURNING id)
		INSERT INTO evacuated_players (region, session_id, sub, evacuation, instance_id, mode, max_players, party, reserved_by, seated_at, universe, ticket, state)
		SELECT 'us', '00000000-0000-0000-0000-000000000001', s, id, 'u', 'duel', 2, $2, $1, now(), '', '', 'released' FROM e, unnest(ARRAY[$1::text, 'mate']) s`, erasable, traces()["a party"])
	p.store.Exec(`INSERT INTO netcode_tokens (region, client_id, session_id, sub, deployment_id, expires_at) VALUES ('eu', 7, gen_random_uuid(), $1, gen_random_uuid(), now() + interval '1 minute')`, erasable)
	p.store.Exec(`INSERT INTO webhook_deliveries (webhook, tx, id, subject, kind, at, body, attempts, next_at)
		SELECT w.id, e.tx, e.id, 'session', e.kind, e.at, jsonb_build_object('data', to_jsonb(e))::text, 1, now() FROM webhooks w, events e WHERE e.kind = 'seat.reserved'`)
}

func erasableRooms(c *config) *lobby.Types {
	types := must.Get(lobby.NewTypes(false, nil))(c.t)
	c.db.RoomTypes, c.db.Queueing = types, realtime.Queueing("global", time.Minute)
	c.db.PlayersOf = func(body []byte) (subs []string) {
		ticket := must.Get(ticketbody.Decode("", time.Time{}, body, ""))(c.t)
		for _, player := range ticket.Players {
			subs = append(subs, player.Sub)
		}
		return subs
	}
	c.db.DescribeTicket = func(body []byte, party []string) db.TicketFacts {
		ticket := must.Get(ticketbody.Decode("", time.Time{}, body, ""))(c.t)
		facts := db.TicketFacts{Party: party}
		facts.Attributes, facts.Latencies = ticketbody.Facts(ticket)
		return facts
	}
	return types
}
