-- What erases a player. Statements of the live tables come first, then those of history, which take a bounded batch each.
--
-- Texts within JSON are compared with their quotes, so that no other text is changed that has the player's id in it. @quoted is the player as Go
-- writes it into the texts of that column. A new table or column that may name a player gets a statement here: the test of all faces (server/erase_test.go) fails
-- without it.

-- name: RequestErasure :one
SELECT ops.erase_player(@player::text, @reason::text)::uuid AS id;

-- name: OpenErasures :many
-- Erasures that no pass has finished, the oldest first, without those whose last pass is not due yet: beside a transaction that stays open, a pass
-- over all tables each second would find nothing. While a region leaves, it is not due either: the player is also erased where the region has
-- arrived.
SELECT e.id FROM erasures e
WHERE e.subs IS NOT NULL AND (e.erased_at IS NULL
    OR e.requested_at <= clock_timestamp() - interval '5 seconds' AND e.tx < pg_snapshot_xmin(pg_current_snapshot())
        AND NOT EXISTS (SELECT FROM region_moves m WHERE m.direction = 'leaves' AND m.ended_at IS NULL))
ORDER BY e.requested_at LIMIT @batch;

-- name: GetErasure :one
-- final: replicas and workers have written what they had in memory when the player was erased, and transactions that ran then have ended.
SELECT e.id, e.subs, coalesce(e.key, '')::text AS key, coalesce(e.salt, '00000000-0000-0000-0000-000000000000')::uuid AS salt, e.erased_at,
       e.finished_at, (e.requested_at <= clock_timestamp() - interval '5 seconds' AND e.tx < pg_snapshot_xmin(pg_current_snapshot())
           AND NOT EXISTS (SELECT FROM region_moves m WHERE m.direction = 'leaves' AND m.ended_at IS NULL))::bool AS final
FROM erasures e WHERE e.id = @id;

-- name: AddErasedSessions :exec
-- Sessions of the player in the realtime lobby, which may be players of tickets and seats.
UPDATE erasures e SET subs = e.subs || ARRAY(SELECT s FROM unnest(@sessions::text[]) AS u(s) WHERE s <> ALL (e.subs))
WHERE e.id = @id AND e.subs IS NOT NULL;

-- name: SettleErasure :one
-- Ends a pass; the last one forgets the player, and writes the event.
WITH settled AS (
    UPDATE erasures e SET rows = e.rows + sqlc.arg(changed)::bigint, erased_at = coalesce(e.erased_at, clock_timestamp()),
        finished_at = CASE WHEN @final::bool THEN clock_timestamp() END, subs = CASE WHEN NOT sqlc.arg(final) THEN e.subs END,
        key = CASE WHEN NOT sqlc.arg(final) THEN e.key END, salt = CASE WHEN NOT sqlc.arg(final) THEN e.salt END
    WHERE e.id = @id AND e.finished_at IS NULL
    RETURNING e.id, e.rows, e.erased_at, e.finished_at, e.actor, e.reason
), logged AS (
    INSERT INTO events (kind, actor, detail)
    SELECT 'player.erased', s.actor, jsonb_build_object('erasure', s.id, 'reason', s.reason, 'rows', s.rows) FROM settled s
    WHERE s.finished_at IS NOT NULL AND s.rows > 0
)
SELECT s.erased_at, s.finished_at FROM settled s;

-- name: PruneErasures :execrows
DELETE FROM erasures e WHERE e.finished_at < now() - sqlc.arg(keep)::interval;

-- name: ErasureRegions :many
-- Every region, of game servers, of tickets and stored players, and of projects. The tables that are large are stepped through by their keys.
WITH RECURSIVE stored AS (
    SELECT (SELECT p.region FROM stored_players p ORDER BY p.region LIMIT 1) AS region
    UNION ALL SELECT (SELECT p.region FROM stored_players p WHERE p.region > s.region ORDER BY p.region LIMIT 1) FROM stored s WHERE s.region IS NOT NULL
), measured AS (
    SELECT (SELECT l.region FROM player_latencies l ORDER BY l.region LIMIT 1) AS region
    UNION ALL SELECT (SELECT l.region FROM player_latencies l WHERE l.region > s.region ORDER BY l.region LIMIT 1) FROM measured s WHERE s.region IS NOT NULL
), avoided AS (
    SELECT (SELECT a.region FROM player_avoids a ORDER BY a.region LIMIT 1) AS region
    UNION ALL SELECT (SELECT a.region FROM player_avoids a WHERE a.region > s.region ORDER BY a.region LIMIT 1) FROM avoided s WHERE s.region IS NOT NULL
)
SELECT r.region::text AS region FROM (
    SELECT fleet_regions() AS region UNION SELECT ticket_regions() UNION SELECT lobby_regions() UNION SELECT realtime_regions()
    UNION SELECT p.region FROM projects p UNION SELECT s.region FROM stored s UNION SELECT m.region FROM measured m UNION SELECT a.region FROM avoided a) r
WHERE r.region IS NOT NULL ORDER BY 1;

-- name: LobbySessionsOfPlayer :many
-- Locks up to @most sessions of a player in the realtime lobby. All projects count, also those that are not in projects: tokens of the master
-- secret may name any.
SELECT s.id FROM realtime_sessions s
WHERE s.region = @region AND s.player = @player LIMIT @most FOR UPDATE;

-- name: LobbiesThatName :many
-- Rooms whose state, details or places name a player, whoever is in them.
SELECT l.uid FROM lobbies l
WHERE l.region = @region AND (position(to_json(@player::text)::text IN l.state::jsonb::text) > 0 OR position(to_json(@player::text)::text IN l.metadata::jsonb::text) > 0 OR position(to_json(@player::text)::text IN l.sanctions::jsonb::text) > 0
    OR EXISTS (SELECT FROM lobby_invitations i WHERE i.region = l.region AND i.lobby = l.uid AND i.player = @player))
ORDER BY l.uid;

-- name: TicketsOfErased :many
-- The tickets of players in a universe.
SELECT DISTINCT p.ticket_id FROM ticket_players p WHERE p.region = @region AND p.sub = @player::text ORDER BY 1;

-- name: TicketsThatName :many
-- Tickets of Open Match clients, queued and assigned, whose player it is, or whose bodies have the id as a text of its own: which of them name the
-- player, only a decoder knows; an assignment has the players of the whole match. @encoded is the id behind its length, as protobuf has it.
SELECT t.id, t.body, (t.player IS NOT DISTINCT FROM @player::text)::bool AS is_player FROM tickets t
WHERE t.region = @region AND (t.player = @player OR position(@encoded::bytea IN t.body) > 0)
UNION ALL
SELECT s.id, s.body, coalesce(position(@encoded IN s.assignment) > 0, false)::bool FROM settled_tickets s
WHERE s.region = @region AND s.body IS NOT NULL AND (position(@encoded IN s.body) > 0 OR position(@encoded IN s.assignment) > 0);

-- name: SeatsOfErased :many
SELECT st.session_id FROM seats st WHERE st.region = @region AND st.sub = @player::text AND st.state = 'reserved'
UNION ALL
SELECT st.session_id FROM seats st WHERE st.region = @region AND st.sub = @player AND st.state = 'connected'
ORDER BY 1;

-- name: EraseStoredPlayers :execrows
-- What backends have stored of the player.
DELETE FROM stored_players p WHERE p.region = ANY (@regions::text[]) AND p.sub = @player::text;

-- name: EraseFromAvoidLists :execrows
-- The lists of others keep everybody else.
UPDATE stored_players p SET avoid = array_remove(p.avoid, @player::text), may_party_with = array_remove(p.may_party_with, @player)
FROM (SELECT a.region, a.sub FROM player_avoids a WHERE a.region = ANY (@regions::text[]) AND a.avoided = @player) l
WHERE p.region = l.region AND p.sub = l.sub;

-- name: EraseFromPartyLists :execrows
UPDATE stored_players p SET may_party_with = array_remove(p.may_party_with, @player::text)
WHERE p.may_party_with <> '{}' AND p.may_party_with @> ARRAY[@player];

-- name: EraseAvoids :execrows
DELETE FROM player_avoids a WHERE a.region = ANY (@regions::text[]) AND (a.sub = @player::text OR a.avoided = @player);

-- name: EraseLatencies :execrows
DELETE FROM player_latencies l WHERE l.region = ANY (@regions::text[]) AND l.sub = @player::text;

-- name: EraseRefusals :execrows
DELETE FROM player_refusals r WHERE r.sub = @player::text;

-- name: EraseFromRefusals :execrows
-- The refusals of others may name the player: as %q, which is @quoted, and in the name of a field.
UPDATE player_refusals r SET detail = replace(replace(r.detail, @quoted::text, to_json(@key::text)::text), 'players.' || @player::text, 'players.' || @key)
WHERE position(@quoted IN r.detail) > 0 OR position('players.' || @player IN r.detail) > 0;

-- name: EraseAnswers :execrows
DELETE FROM idempotency_keys k WHERE k.caller = @player::text;

-- name: EraseDemand :execrows
-- A row of demand has a hash of the player as its key, and one of the party.
DELETE FROM demand d WHERE d.key = @demand_key OR d.party_key = @party::uuid OR d.party_key IN (SELECT p.party FROM erased_parties p WHERE p.erasure = @erasure);

-- name: EraseRedeemedTokens :execrows
-- A token that was used stays used.
UPDATE redeemed_tokens r SET sub = @key::text WHERE r.sub = @player::text;

-- name: EraseAdmissions :execrows
-- The place in a login queue is given up as soon as a worker looks at it, which counts it: until then the key has it.
UPDATE admissions a SET sub = @key::text, expires_at = least(a.expires_at, clock_timestamp()) FROM valves v WHERE a.valve = v.name AND a.sub = @player::text;

-- name: EraseFromEvacuations :execrows
-- Reports of evacuations, which are kept for a week. A player for whom nothing is decided yet is left.
UPDATE evacuated_players p SET sub = CASE WHEN p.sub = @player::text THEN @key::text ELSE p.sub END,
    reserved_by = CASE WHEN p.reserved_by = @player THEN @key ELSE p.reserved_by END, party = erased_party(@salt::uuid, p.party),
    state = CASE WHEN p.sub = @player AND p.state = 'released' THEN 'left' ELSE p.state END,
    why = CASE WHEN p.sub = @player AND p.state = 'released' THEN 'erased' ELSE p.why END,
    decided_at = CASE WHEN p.sub = @player AND p.state = 'released' THEN now() ELSE p.decided_at END
FROM evacuated_players m WHERE m.sub = @player AND p.region = m.region AND p.session_id = m.session_id AND p.party = m.party;

-- name: EraseNetcodeTokens :execrows
DELETE FROM netcode_tokens t WHERE t.sub = @player::text;

-- name: EraseMatchAnswers :execrows
UPDATE match_accepts a SET sub = @key::text WHERE a.sub = @player::text;

-- name: EraseFromMatches :execrows
-- Matches that play keep their roster, in which the key stands for the player. Those that are not decided have lost a ticket, and end now.
UPDATE matches m SET
    roster = (SELECT jsonb_agg(CASE WHEN r ->> 'sub' = @player::text THEN (r - 'attributes' - 'sources') || jsonb_build_object('sub', @key::text) ELSE r END ORDER BY n)
              FROM jsonb_array_elements(m.roster) WITH ORDINALITY AS u(r, n)),
    decision = replace(m.decision::text, to_json(@player::text)::text, to_json(@key::text)::text)::jsonb,
    deadline = CASE WHEN m.state = 'playing' THEN m.deadline ELSE least(m.deadline, clock_timestamp()) END
WHERE m.roster @> jsonb_build_array(jsonb_build_object('sub', @player::text));

-- name: EraseInboxes :execrows
WITH messages AS (
    DELETE FROM player_messages m WHERE m.player = @player::text
)
DELETE FROM player_inboxes i WHERE i.player = @player;

-- name: EraseSentMessages :execrows
DELETE FROM player_messages m WHERE m.from_player = @player::text;

-- name: EraseBlocks :execrows
DELETE FROM player_blocks b WHERE b.player = @player::text OR b.blocked = @player;

-- name: EraseInvitations :execrows
DELETE FROM lobby_invitations i WHERE i.player = @player::text;

-- name: EraseFromInvitations :execrows
UPDATE lobby_invitations i SET inviting_player = CASE WHEN i.inviting_player = @player::text THEN @key::text ELSE i.inviting_player END,
    invited_by = CASE WHEN i.invited_by = @player THEN @key ELSE i.invited_by END
WHERE i.inviting_player = @player OR i.invited_by = @player;

-- name: EraseFromMembers :execrows
-- The invitation of another one, by a session of the player.
UPDATE lobby_members m SET invited_by = @key::text WHERE m.invited_by = @player::text;

-- name: EraseSayings :execrows
DELETE FROM lobby_sayings s WHERE s.player = @player::text;

-- name: EraseFromPlaces :execrows
-- The places of matches stay places.
UPDATE lobbies l SET participants = array_replace(l.participants, @player::text, @key::text),
    participant_players = array_replace(l.participant_players, @player, @key), participant_seats = array_replace(l.participant_seats, @player, @key)
WHERE l.participants @> ARRAY[@player] OR l.participant_players @> ARRAY[@player] OR l.participant_seats @> ARRAY[@player];

-- name: EraseFromLobbyLog :execrows
-- Rows of logs are a minute old at most. Sessions stay in them: members that have not read that one has left would keep it.
UPDATE lobby_log g SET body = replace(g.body, @quoted::text, to_json(@key::text)::text) WHERE position(@quoted IN g.body) > 0;

-- name: EraseWaiting :execrows
DELETE FROM realtime_tickets r WHERE r.player = @player::text OR r.sub = @player;

-- name: EraseFromLetters :execrows
-- Events that a webhook has not got yet.
UPDATE webhook_deliveries d SET body = replace(d.body, @quoted::text, to_json(@key::text)::text) WHERE position(@quoted IN d.body) > 0;

-- name: ErasePartiesOfLetters :execrows
UPDATE webhook_deliveries d SET body = replace(d.body, p.party::text, erased_party(@salt::uuid, p.party)::text)
FROM (SELECT e.party FROM erased_parties e WHERE e.erasure = @erasure UNION SELECT @party::uuid) p WHERE position(p.party::text IN d.body) > 0;

-- name: EraseSeatHistory :one
-- A batch of the oldest seats of the player, and all other seats of their parties: in history, and in sessions that are open. @party is the party
-- of the player alone, which has no others.
WITH mine AS MATERIALIZED (
    SELECT h.region, h.session_id, h.party, h.left_at, h.reserved_at FROM seat_history h WHERE h.sub = @player::text
    ORDER BY h.left_at FETCH FIRST sqlc.arg(batch) ROWS WITH TIES
), shared AS MATERIALIZED (
    SELECT m.region, m.session_id, m.party, min(m.reserved_at) AS since FROM mine m WHERE m.party <> @party::uuid GROUP BY 1, 2, 3
), noted AS (
    INSERT INTO erased_parties (erasure, party) SELECT DISTINCT @erasure::uuid, s.party FROM shared s ON CONFLICT DO NOTHING
), seated AS (
    UPDATE seats st SET party = erased_party(@salt::uuid, st.party), reserved_by = CASE WHEN st.reserved_by = @player THEN @key::text ELSE st.reserved_by END
    FROM shared s WHERE st.region = s.region AND st.session_id = s.session_id AND st.party = s.party
), others AS (
    UPDATE seat_history h SET party = erased_party(@salt, h.party), reserved_by = CASE WHEN h.reserved_by = @player THEN @key ELSE h.reserved_by END
    FROM shared s WHERE h.region = s.region AND h.session_id = s.session_id AND h.left_at >= s.since AND h.party = s.party AND h.sub <> @player
), own AS (
    UPDATE seat_history h SET sub = @key, party = erased_party(@salt, h.party), reserved_by = CASE WHEN h.reserved_by = @player THEN @key ELSE h.reserved_by END,
        jti = NULL
    WHERE h.sub = @player AND h.left_at <= (SELECT max(m.left_at) FROM mine m)
    RETURNING h.left_at
)
SELECT count(*) FROM own;

-- name: EraseReservations :execrows
-- Seats in open sessions that the player has reserved for others.
UPDATE seats st SET reserved_by = @key::text, party = erased_party(@salt::uuid, st.party)
WHERE st.region = ANY (@regions::text[]) AND st.reserved_by = @player::text AND st.reserved_by <> st.sub;

-- name: EraseTicketEvents :one
-- The states of tickets. An assigned ticket that clients of Open Match may still read has the player in its body, which goes.
WITH found AS MATERIALIZED (
    SELECT e.region, e.ticket_id, e.n, e.at FROM ticket_events e WHERE e.party IS NOT NULL AND e.party @> ARRAY[@player::text] LIMIT sqlc.arg(batch)
), settled AS (
    UPDATE settled_tickets s SET body = NULL, assignment = NULL, settled_at = clock_timestamp(), tx = pg_current_xact_id()
    FROM found f WHERE s.region = f.region AND s.id = f.ticket_id AND s.body IS NOT NULL
), changed AS (
    UPDATE ticket_events e SET party = array_replace(e.party, @player, @key::text),
        detail = replace(e.detail::text, to_json(@player::text)::text, to_json(@key::text)::text)::jsonb
    FROM found f WHERE e.region = f.region AND e.ticket_id = f.ticket_id AND e.n = f.n AND e.at = f.at
    RETURNING e.n
)
SELECT count(*) FROM changed;

-- name: EraseTicketHistory :execrows
-- The attributes of the others of a party stay. The latencies are those of all together, and go.
UPDATE ticket_history h SET
    party = array_replace(h.party, @player::text, @key::text), latencies = NULL,
    attributes = CASE WHEN h.attributes ? sqlc.arg(player) THEN (h.attributes - sqlc.arg(player)::text - CASE WHEN cardinality(h.party) = 1 THEN '' ELSE sqlc.arg(player) END)
        || jsonb_build_object(@key, '{}'::jsonb) ELSE h.attributes END
FROM (SELECT o.region, o.id, o.left_at FROM ticket_history o WHERE o.party @> ARRAY[@player] LIMIT sqlc.arg(batch)) f
WHERE h.region = f.region AND h.id = f.id AND h.left_at = f.left_at;

-- name: EraseEvents :execrows
-- Events about the player: seats and tickets, if they are recorded, and what operators and backends did. A reason may name the player, too.
UPDATE events e SET detail = replace(e.detail::text, to_json(@player::text)::text, to_json(@key::text)::text)::jsonb
    || CASE WHEN e.detail ? 'party' THEN jsonb_build_object('party', erased_party(@salt::uuid, (e.detail ->> 'party')::uuid)) ELSE '{}' END
    || CASE WHEN jsonb_typeof(e.detail -> 'reason') = 'string' THEN jsonb_build_object('reason', replace(e.detail ->> 'reason', @player::text, @key)) ELSE '{}' END
FROM (SELECT o.region, o.at, o.id FROM events o
      WHERE event_names(o.detail) @> ARRAY[@player] AND (o.detail ? 'player' OR o.detail ? 'subs' OR o.detail ? 'metadata' OR jsonb_typeof(o.detail -> 'players') = 'array')
      LIMIT sqlc.arg(batch)) f
WHERE e.region = f.region AND e.at = f.at AND e.id = f.id;

-- name: ErasePartiesOfEvents :one
-- The events of the other players of up to 20 parties. A party is done when no event has it. Returns 0 when all are done.
WITH chosen AS MATERIALIZED (
    SELECT p.party FROM erased_parties p WHERE p.erasure = @erasure ORDER BY p.party LIMIT 20
), found AS MATERIALIZED (
    SELECT o.region, o.at, o.id FROM events o
    WHERE event_names(o.detail) && ARRAY(SELECT c.party::text FROM chosen c) AND (o.detail ? 'player' OR o.detail ? 'subs' OR o.detail ? 'metadata' OR jsonb_typeof(o.detail -> 'players') = 'array')
      AND o.detail ->> 'party' IN (SELECT c.party::text FROM chosen c)
    LIMIT sqlc.arg(batch)
), changed AS (
    UPDATE events e SET detail = e.detail || jsonb_build_object('party', erased_party(@salt::uuid, (e.detail ->> 'party')::uuid))
    FROM found f WHERE e.region = f.region AND e.at = f.at AND e.id = f.id
), done AS (
    DELETE FROM erased_parties p USING chosen c WHERE p.erasure = @erasure AND p.party = c.party AND (SELECT count(*) FROM found) = 0
)
SELECT ((SELECT count(*) FROM chosen) + (SELECT count(*) FROM found))::bigint AS left_over;
