// Generated from the player's part of api/openapi.yaml by generate.mjs (make generate). Do not edit.

export interface paths {
    "/matchmake": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get a seat for yourself or your party
         * @description Seats the caller, or the caller's whole party, in one session of that region and mode; a party is never split. The
         *     director fills the fullest open session of that size that fits the party. If there is none, it opens a session on
         *     the least loaded instance that is alive, is not draining, offers the mode and has `max_players` free seats. It
         *     answers 409 `no_capacity` only after a fresh read of the database shows neither, also while concurrent calls
         *     hold locks. If no pool serves the mode and no instance has offered it within the last day, it answers 409 `mode_unknown` or
         *     `region_unknown`; a replica reads which there are at most once a second.
         *
         *     Where a pool of the director starts game servers for the mode, a party that gets 409 `no_capacity` counts for 60
         *     seconds as waiting for one, and the pool starts servers for those who wait. That answer has `Retry-After`, and
         *     `servers_starting` says how many servers of the pool start now. Ask again until you have a seat: nothing is kept for you.
         *
         *     A repeated call with the same `party` and `max_players` returns the seat that you have, and a connected player
         *     gets their session back. Other parameters free the unused seat and take a new one. See [seats](#seats). A retry
         *     therefore needs nothing special. An `Idempotency-Key` also makes the answer repeatable: for 24 hours the same key
         *     and body return the first 200's answer, even if the session has ended meanwhile. Errors are not stored, and the
         *     same key with another body is 422.
         *
         *     Then call [resolve](#resolveSession) within 60 seconds. Each member of a party resolves for themselves, with
         *     the same `session_handle`.
         */
        post: operations["matchmake"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/resolve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Exchange a handle for an endpoint and a token
         * @description Returns the endpoint to connect to and the [session token](#session-tokens) to present there. The token is for the
         *     caller only and is valid for 2 minutes. Call again for another token whenever you need one, for instance to
         *     reconnect. Earlier tokens remain valid until they expire.
         *
         *     If the game server speaks netcode (Lightyear, for instance) and was started by the director, the answer also has a
         *     connect token in `netcode`. It is valid for 45 seconds and for one connection.
         *
         *     The checks have this order: 404 for a handle that is unknown or does not parse, 410 for a session that has ended
         *     or whose instance's lease has expired (remembered for 24 hours), 403 if the caller has no seat in it. After each
         *     of them, matchmake again.
         */
        post: operations["resolveSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/sessions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a session
         * @description Returns the current state of a session, in the form of matchmake's answer. Any player may call it; only players
         *     who have a seat can [resolve](#resolveSession).
         */
        get: operations["getSession"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/regions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List regions
         * @description Returns the game regions that have a beacon or are served by another cell, sorted. A beacon is a URL that a client fetches several times to
         *     measure its latency to the region; the SDK for TypeScript does it with `measureLatencies`. `address` is the base URL of the cell of a region:
         *     see [other cells](#other-cells). Operators set beacons with `director regions beacon` or `ops.set_beacon`, and cells with `director cells set`
         *     or `ops.set_cell`; without any the list is empty. Later releases may say more of a region: ignore what you do not know.
         */
        get: operations["listRegions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tickets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Queue for a match
         * @description Puts the caller, or a party with the caller, into the queue of the named profiles. See [tickets](#tickets).
         *
         *     The same request again, by any member of the party, returns the ticket that is there (200), so a retry needs nothing
         *     special while the ticket waits. An `Idempotency-Key` also covers a retry after the ticket has left: for 24 hours the
         *     same key and body return that ticket, whatever has become of it.
         *
         *     Attributes are what the rules of profiles compare: numbers, texts, or lists of texts in order of preference.
         *     `attributes` are those of every player; `players` replaces them for single players. A profile may require
         *     attributes, which are then checked, and may say who must vouch for them. What a profile takes from a claim
         *     replaces what the request says: the director reads it from the caller's access token, of the other members what a
         *     backend has stored. What is then still the client's word is refused (400, which names the attribute and what is needed).
         *
         *     A ticket that can be in no match of a profile that it names, whatever the other tickets are and
         *     however long it waits, is refused with 422 `cannot_match`, and so is one that names none if no profile with a `pool` can match it
         *     (unless clients of Open Match are served, which may): latencies that are missing or above the last limit, an attribute that is missing or of another
         *     type than a rule compares, roles that no team has, a party that breaks a rule by itself, or the filters of the pool.
         *
         *     A ticket without `profiles` is refused
         *     while there are profiles and none of them takes tickets that name none.
         */
        post: operations["createTicket"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tickets/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a ticket, or wait for its next state
         * @description Returns the ticket to a member of its party. With `wait` and `version` it is a long poll: it answers at once if the
         *     ticket's version is higher than `version`, else as soon as the ticket enters another state, and after `wait` in any
         *     case. Without `version` it waits for a change from now on. Each call [keeps the ticket alive](#tickets).
         */
        get: operations["getTicket"];
        put?: never;
        post?: never;
        /**
         * Leave the queue
         * @description Takes the ticket out of the queue for the whole party. The answer holds everywhere: a ticket that was cancelled is in
         *     no match, at any time. A repeated call returns the same. While the ticket is `accepting`, the call
         *     [declines](#declineTicket) the match for the caller: the answer is `declined`, or `accepting` with `accept.declined` for the moment
         *     that the other parties need to go back to their places.
         */
        delete: operations["cancelTicket"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tickets/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow a ticket
         * @description Streams the ticket's states as [server-sent events](#tickets), beginning with the current one, or with those after
         *     `Last-Event-ID`. The stream keeps the ticket alive, and ends after a final state.
         */
        get: operations["watchTicket"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tickets/{id}/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Accept a match
         * @description Accepts the match that the caller was asked about, for the caller alone. A ticket may be in another match when the player answers: `match_id` says which one is meant. Each player of the match answers for themselves until `accept.until`; the match is on when all have accepted. A repeated call returns the same.
         */
        post: operations["acceptTicket"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tickets/{id}/decline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Decline a match
         * @description Declines the match that the caller was asked about. The caller's whole party leaves the queue. That ends the ready check at once: the other
         *     parties go back to their places, also those that have not answered yet. A player that has accepted may still decline
         *     until all have accepted. A repeated call succeeds as well, with the ticket `accepting` and `accept.declined` or, a moment later, `declined`.
         */
        post: operations["declineTicket"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/login-queue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read your place
         * @description Returns whether the player is admitted, or where it waits, and keeps both for five more minutes. With `wait` it answers when the
         *     player is admitted, or when that time is over.
         */
        get: operations["getLoginQueue"];
        put?: never;
        /**
         * Get in, or a place in the line
         * @description Admits the player, or gives it a place in the [login queue](#login-queue). A player with a place keeps it, so the call may be
         *     repeated. Where no valve limits who enters, the answer is `admitted` at once.
         */
        post: operations["enterLoginQueue"];
        /**
         * Give your place back
         * @description Gives back the place or the admission of the player, so that the next one enters. The call may be repeated.
         */
        delete: operations["leaveLoginQueue"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/login-queue/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow your place
         * @description Streams the place as server-sent events, whose data is the document of [reading it](#getLoginQueue): `waiting` at once and as the position
         *     changes, at most every few seconds far from the head of the line, then `admitted`, which ends the stream. A connection that breaks loses
         *     nothing: connect again within five minutes.
         */
        get: operations["watchLoginQueue"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * @description The id of a session. Opaque.
         * @example eu-west.7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10
         */
        SessionID: string;
        /**
         * @description Unguessable; exchanged for an endpoint and a token at `/resolve`. Opaque.
         * @example eu-west.Yp0k3m2uVdGd0H8cJrXc1w
         */
        SessionHandle: string;
        /**
         * @description The address for players, as `host:port` (IPv6 in brackets) or as a URL.
         * @example 203.0.113.7:7777
         */
        Endpoint: string;
        /**
         * @description A region, named by the title's operator.
         * @example eu-west
         */
        Region: string;
        /**
         * @description A game mode, named by the title.
         * @example duel
         */
        Mode: string;
        /**
         * @description A player, identified by the `sub` of their access token: 1 to 255 bytes of UTF-8, which may be fewer characters.
         * @example alice
         */
        Sub: string;
        /**
         * @description Seats of the session that are reserved or connected.
         * @example 3
         */
        PlayerCount: number;
        /**
         * @example {
         *       "region": "eu-west",
         *       "mode": "duel"
         *     }
         */
        MatchmakeRequest: {
            region: components["schemas"]["Region"];
            mode: components["schemas"]["Mode"];
            /** @description The players to seat together, including the caller, without duplicates. Absent means the caller alone. The others must be players with whom a backend lets the caller party, as for [tickets](#createTicket). */
            party?: components["schemas"]["Sub"][] | null;
            /**
             * @description The session's number of seats, at least the size of the party. Only sessions of exactly this size are
             *     considered. Absent means the mode's default, which is 8 unless the operator has set another.
             */
            max_players?: number | null;
        };
        /**
         * @description A place in the login queue.
         * @example {
         *       "position": 1204,
         *       "waiting": 48210,
         *       "estimate": {
         *         "expected": 24.1,
         *         "soonest": 20,
         *         "latest": 27.3,
         *         "p50": 24,
         *         "p90": 25
         *       },
         *       "ask_after": 6
         *     }
         */
        LoginPlace: {
            /** @description At most so many players are admitted before and with this one, which is exact up to 512 players. */
            position: number;
            /** @description Players in the line. */
            waiting: number;
            /** @description The place is in the line of staff. */
            staff?: boolean;
            /** @description Nobody is admitted until the operator opens the valve. */
            closed?: boolean;
            estimate: components["schemas"]["LoginEstimate"];
            /** @description Seconds until it makes sense to ask again, for clients that neither follow the place nor wait with the call. */
            ask_after: number;
        };
        /**
         * @description Whether a player may enter. The fields of a place are there while it waits.
         * @example {
         *       "state": "waiting",
         *       "valve": "launch",
         *       "position": 1204,
         *       "waiting": 48210,
         *       "estimate": {
         *         "expected": 24.1,
         *         "soonest": 20,
         *         "latest": 27.3,
         *         "p50": 24,
         *         "p90": 25
         *       },
         *       "ask_after": 6
         *     }
         */
        LoginQueuePlace: {
            /** @enum {string} */
            state: "admitted" | "waiting";
            /** @description The valve that decides; absent where none limits who enters. */
            valve?: string;
            /** @description At most so many players are admitted before and with this one, which is exact up to 512 players. */
            position?: number;
            /** @description Players in the line. */
            waiting?: number;
            /** @description The place is in the line of staff. */
            staff?: boolean;
            /** @description Nobody is admitted until the operator opens the valve. */
            closed?: boolean;
            estimate?: components["schemas"]["LoginEstimate"];
            /** @description Seconds until it makes sense to ask again, for clients that neither follow the place nor wait with the call. */
            ask_after?: number;
        };
        /**
         * @description How long a player waits in the login queue, in seconds; `null` where nobody can say.
         * @example {
         *       "expected": 24.1,
         *       "soonest": 20,
         *       "latest": 27.3,
         *       "p50": 24,
         *       "p90": 25
         *     }
         */
        LoginEstimate: {
            /** @description As fast as players were admitted within the last minute. */
            expected: number;
            /** @description As fast as the valve admits at most, if nobody ahead leaves. */
            soonest: number;
            /** @description With the pace two standard deviations below that of the last minute; `null` where too few were admitted for a bound. */
            latest: number | null;
            /** @description Half of the waits end before, to two digits. The director compares the waits of players who were admitted with what they saw when they joined, and corrects itself. `null`, as `p90`, while fewer than 20 players were admitted of late, without a worker, and for staff; absent from earlier releases. */
            p50?: number | null;
            /** @description Nine of ten waits end before. */
            p90?: number | null;
        } | null;
        /**
         * @description The part of the title that the player enters.
         * @example {
         *       "region": "eu-west"
         *     }
         */
        LoginQueueRequest: {
            /** @description The game region that the player enters, or the universe of its tickets; absent or empty, only valves of all regions count. */
            region?: string | null;
        };
        /**
         * @example {
         *       "left": true
         *     }
         */
        LoginQueueLeft: {
            /** @description Whether there was something to give back. */
            left: boolean;
        };
        /**
         * @example {
         *       "session_handle": "eu-west.Yp0k3m2uVdGd0H8cJrXc1w",
         *       "session_id": "eu-west.7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10",
         *       "endpoint": "203.0.113.7:7777",
         *       "region": "eu-west",
         *       "mode": "duel",
         *       "player_count": 3,
         *       "max_players": 8
         *     }
         */
        Placement: {
            session_handle: components["schemas"]["SessionHandle"];
            session_id: components["schemas"]["SessionID"];
            endpoint: components["schemas"]["Endpoint"];
            region: components["schemas"]["Region"];
            mode: components["schemas"]["Mode"];
            player_count: components["schemas"]["PlayerCount"];
            /** @description The session's number of seats. */
            max_players: number;
        };
        /**
         * @example {
         *       "session_handle": "eu-west.Yp0k3m2uVdGd0H8cJrXc1w"
         *     }
         */
        ResolveRequest: {
            session_handle: components["schemas"]["SessionHandle"];
        };
        /**
         * @example {
         *       "endpoint": "203.0.113.7:7777",
         *       "session_token": "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl",
         *       "session_id": "eu-west.7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10"
         *     }
         */
        ResolveResponse: {
            endpoint: components["schemas"]["Endpoint"];
            /**
             * @description A JWT for the game server at that endpoint. See session tokens for its claims.
             * @example eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl
             */
            session_token: string;
            session_id: components["schemas"]["SessionID"];
            netcode?: components["schemas"]["Netcode"];
        };
        /**
         * @description The client id of a netcode connect token: a number from 1 to 9223372036854775807, in decimal without leading zeros.
         *     A string, because JSON numbers of JavaScript have 53 bits.
         * @example 812345678901
         */
        NetcodeClientID: string;
        /**
         * @description A connect token of the netcode protocol, version 1.02. Present only where the game server was started by the director
         *     and its app version has a netcode dialect.
         * @example {
         *       "token": "TkVUQ09ERSAxLjAyAGUAAAAAAAAA",
         *       "client_id": "4611686018427387904",
         *       "dialect": "lightyear-be",
         *       "ip": "203.0.113.7",
         *       "port": 31504,
         *       "cert_digest": null,
         *       "expires_at": "2026-11-23T16:00:45Z"
         *     }
         */
        Netcode: {
            /**
             * @description The 2,048 bytes of the token, in standard base64 with padding, 2,732 characters. A secret of the player's.
             * @example TkVUQ09ERSAxLjAyAGUAAAAAAAAA
             */
            token: string;
            client_id: components["schemas"]["NetcodeClientID"];
            /**
             * @description The byte order of the token: `netcode102` for the reference library, `lightyear-le` for Lightyear up to 0.19,
             *     `lightyear-be` from 0.20 on.
             * @enum {string}
             */
            dialect: "netcode102" | "lightyear-le" | "lightyear-be";
            /**
             * @description The IPv4 or IPv6 address to dial. The token holds the same.
             * @example 203.0.113.7
             */
            ip: string;
            /**
             * @description The port to dial.
             * @example 31504
             */
            port: number;
            /**
             * @description The SHA-256 digest of the game server's WebTransport certificate, in hex with colons; null if the server has
             *     reported none.
             */
            cert_digest: string | null;
            /**
             * Format: date-time
             * @description After this time the game server accepts the token no longer.
             * @example 2026-11-23T16:00:45Z
             */
            expires_at: string;
        };
        /**
         * @description The id of a ticket. Opaque.
         * @example d4k0q2v8e5s0c1p6f3a0
         */
        TicketID: string;
        /**
         * @description The name of a profile.
         * @example ranked-5v5
         */
        ProfileName: string;
        /**
         * @description Values by name: finite numbers, texts of at most 1,024 bytes, or lists of at most 64 such texts; a value that is `null`
         *     is absent. A whole number beyond ±2^53 must be one that a 64-bit floating point number holds exactly; write ids as texts.
         *     Names are `[A-Za-z0-9._-]{1,64}`. A player has at most 64, and a ticket's have at most 8 KiB together. No
         *     list is called `profile`.
         * @example {
         *       "skill": 1480,
         *       "role": [
         *         "tank",
         *         "healer"
         *       ]
         *     }
         */
        Attributes: {
            [key: string]: unknown;
        } | null;
        /**
         * @example {
         *       "profiles": [
         *         "ranked-5v5"
         *       ],
         *       "party": [
         *         "alice",
         *         "bob"
         *       ],
         *       "attributes": {
         *         "skill": 1480
         *       }
         *     }
         */
        TicketRequest: {
            /** @description The profiles to queue for; the first match wins. Absent or empty: all profiles that take tickets which name none, those with a `pool`. 400 if there are profiles and none has one. */
            profiles?: components["schemas"]["ProfileName"][] | null;
            /** @description The players that must play together, including the caller. Absent means the caller alone. The others must be players with whom a backend lets the caller party (`may_party_with`, of either of the two), unless the operator has opened parties (`DIRECTOR_OPEN_PARTIES`). */
            party?: components["schemas"]["Sub"][] | null;
            /** @description A room of the realtime lobby, a party or a lobby, whose owner is the caller: its members are the party. Absent means `party`, which must be absent otherwise. */
            lobby?: {
                /**
                 * @description The project of the room.
                 * @example my-game
                 */
                project: string;
                /**
                 * @description The id of the room.
                 * @example party:7f3a
                 */
                room: string;
            } | null;
            attributes?: components["schemas"]["Attributes"];
            /** @description Attributes of single players, by `sub`. Only members of the party may be named. */
            players?: {
                [key: string]: components["schemas"]["TicketPlayer"];
            } | null;
            /** @description Measured latencies in milliseconds, by region, of the member of the party that has the worst. A region that is missing or `null` was not measured. Fractions are refused: round them up before. A profile with `latency_jump` bounds how far a value may be from the ones that counted before; what is beyond counts as that limit. */
            latencies?: {
                [key: string]: number | null;
            } | null;
        };
        /**
         * @description Where clients measure their latencies, and which regions other cells serve.
         * @example {
         *       "regions": [
         *         {
         *           "region": "eu",
         *           "beacon": "https://eu.ping.example/healthz"
         *         },
         *         {
         *           "region": "us",
         *           "beacon": "https://us.ping.example/healthz",
         *           "address": "https://us.director.example"
         *         }
         *       ]
         *     }
         */
        Regions: {
            regions: components["schemas"]["GameRegion"][];
        };
        /**
         * @description A game region. Later releases may add fields.
         * @example {
         *       "region": "eu",
         *       "beacon": "https://eu.ping.example/healthz"
         *     }
         */
        GameRegion: {
            /**
             * @description Its name, as in `latencies`.
             * @example eu
             */
            region: string;
            /**
             * Format: uri
             * @description The URL to fetch. Absent: none.
             * @example https://eu.ping.example/healthz
             */
            beacon?: string;
            /**
             * Format: uri
             * @description The base URL of the API of the cell that serves the region. Absent: this one does.
             * @example https://us.director.example
             */
            address?: string;
        };
        /**
         * @example {
         *       "attributes": {
         *         "skill": 1210
         *       }
         *     }
         */
        TicketPlayer: {
            attributes?: components["schemas"]["Attributes"];
        } | null;
        /**
         * @example {
         *       "match_id": "3f1c8a52-6f0e-4c7d-8a55-0d9be4f1a001"
         *     }
         */
        ReadyAnswer: {
            /**
             * Format: uuid
             * @description The `match_id` of the state `accepting` in which the player was asked. If the ticket is in another match by now, the answer is 409 `too_late`. Absent: the answer is for whichever match asks, which the player may never have seen.
             * @example 3f1c8a52-6f0e-4c7d-8a55-0d9be4f1a001
             */
            match_id?: string | null;
        } | null;
        /**
         * @description A ticket, as one of its players sees it. Which fields it has depends on its state.
         * @example {
         *       "ticket_id": "d4k0q2v8e5s0c1p6f3a0",
         *       "state": "queued",
         *       "version": 1,
         *       "profiles": [
         *         "ranked-5v5"
         *       ],
         *       "party": [
         *         "alice",
         *         "bob"
         *       ],
         *       "place": 412
         *     }
         */
        Ticket: {
            ticket_id: components["schemas"]["TicketID"];
            /**
             * @description See [tickets](#tickets).
             * @enum {string}
             */
            state: "queued" | "paused" | "matched" | "accepting" | "waiting_for_server" | "assigned" | "declined" | "cancelled" | "expired";
            /** @description Counts the ticket's states. */
            version: number;
            /** @description What the ticket waits for. Absent once it has left the queue. */
            profiles?: components["schemas"]["ProfileName"][];
            party: components["schemas"]["Sub"][];
            /** @description The ticket's place among those that wait for the first of its profiles, from 1, some seconds old. At most 100,001. */
            place?: number;
            estimate?: components["schemas"]["TicketEstimate"];
            step?: components["schemas"]["TicketStep"];
            /** @description In `assigned`, the ticket with which you wait now, because the match's game server was [evacuated](#evacuations). */
            next_ticket_id?: string;
            /**
             * Format: uuid
             * @description In `accepting`, and in `assigned` by the director.
             */
            match_id?: string;
            accept?: components["schemas"]["TicketAccept"];
            session_handle?: components["schemas"]["SessionHandle"];
            /** @description The game server's address; in `assigned` by an Open Match director, its connection, whatever its form. */
            endpoint?: string;
            region?: components["schemas"]["Region"];
            /** @description The name of the caller's team. */
            team?: string;
            /** @description The names of all players' teams, by `sub`. Only for a backend. */
            teams?: {
                [key: string]: string;
            };
            /** @description Why the ticket left the queue. See [tickets](#tickets). */
            reason?: string;
            /** @description The `reason` in words, for people. Absent for one that the director does not know. */
            detail?: string;
        };
        /**
         * @description How long a ticket like this one that is queued now waits in all, in seconds, servers that start included: from the length of the queue, the rate of matches, and the waits of late. The director compares each wait with the estimate of its beginning and corrects itself, so that half of the waits end before p50, and nine of ten before p90. `null` while fewer than 20 tickets were matched of late, absent in states that do not wait.
         * @example {
         *       "p50": 18,
         *       "p90": 55,
         *       "samples": 200
         *     }
         */
        TicketEstimate: {
            /** @description Half of the waits end before. */
            p50: number;
            /** @description Nine of ten waits end before. */
            p90: number;
            /** @description The matched tickets that it is made from. */
            samples: number;
        } | null;
        /**
         * @description How far the first rule of the profile that widens with time has widened. Absent without such a rule.
         * @example {
         *       "rule": "near-skill",
         *       "within": 200,
         *       "next_at": "2026-11-23T01:20:00Z"
         *     }
         */
        TicketStep: {
            /** @description The rule's id. */
            rule: string;
            /** @description What the rule allows now. */
            within?: number;
            /** @description The latency that the rule allows now. */
            latency_ms?: number;
            /** @description The rule allows everything. */
            ended?: boolean;
            /**
             * @description When it widens next. Absent after the last step.
             * @example 2026-11-23T01:20:00Z
             */
            next_at?: string;
        };
        /**
         * @example {
         *       "until": "2026-11-23T01:20:00Z",
         *       "players": 10,
         *       "accepted": 7,
         *       "you": true
         *     }
         */
        TicketAccept: {
            /**
             * @description When the time to answer ends.
             * @example 2026-11-23T01:20:00Z
             */
            until: string;
            /** @description The players of the match. */
            players: number;
            /** @description How many of them have accepted. */
            accepted: number;
            /** @description Whether you have accepted. */
            you: boolean;
            /** @description A player of this ticket has declined, or left during the ready check: the ticket is in no match, and leaves the queue in a moment with the state `declined`. Absent: nobody has. */
            declined?: boolean;
        };
        /**
         * @description An error, in the form of RFC 9457.
         * @example {
         *       "type": "/docs#invalid_request",
         *       "title": "Invalid request",
         *       "status": 400,
         *       "detail": "1 field is missing or outside its limits",
         *       "code": "invalid_request",
         *       "request_id": "01JD6Z4C2W8H3E",
         *       "errors": [
         *         {
         *           "field": "region",
         *           "detail": "must be 1 to 32 characters of a-z 0-9 -"
         *         }
         *       ]
         *     }
         */
        Problem: {
            /**
             * Format: uri-reference
             * @description Identifies the kind of problem by the anchor of its `code` on this page.
             * @example /docs#invalid_request
             */
            type: string;
            /** @description The kind of problem in a few words. */
            title: string;
            /** @description The HTTP status. */
            status: number;
            /** @description The reason of this occurrence, for people. May change; do not parse it. */
            detail: string;
            /**
             * @description The kind of problem, for programs. Stable.
             * @enum {string}
             */
            code: "invalid_request" | "invalid_json" | "unauthorized" | "party_not_permitted" | "not_owner" | "no_seat" | "origin_not_allowed" | "route_not_found" | "profile_unknown" | "instance_unknown" | "session_unknown" | "lobby_unknown" | "player_unknown" | "player_not_in_room" | "ticket_unknown" | "not_in_login_queue" | "match_unknown" | "method_not_allowed" | "request_timeout" | "superseded" | "scope_missing" | "viewers_token" | "outside_enrolment" | "enrolment_over" | "enrolment_full" | "credential_revoked" | "outside_deployment" | "deployment_over" | "instance_taken" | "no_connect_tokens" | "no_capacity" | "mode_unknown" | "region_unknown" | "party_conflict" | "ticket_exists" | "party_changed" | "lobby_not_ready" | "room_refuses" | "room_type_unknown" | "matched" | "assigned" | "too_late" | "profile_retired" | "session_closed" | "ticket_ended" | "cursor_gone" | "profile_changed" | "region_elsewhere" | "body_too_large" | "unsupported_media_type" | "idempotency_mismatch" | "party_too_large" | "cannot_match" | "profile_invalid" | "upgrade_required" | "rate_limited" | "waiting_full" | "too_many_reserved" | "too_many_tickets" | "not_admitted" | "login_queue_full" | "too_many_profiles" | "too_many_queries" | "too_many_streams" | "internal" | "unavailable" | "room_pending" | "draining";
            /** @description The same as `X-Request-Id`. */
            request_id: string;
            /** @description With `invalid_request`, every field or header that is missing or outside its limits. With `profile_invalid`, every problem. */
            errors?: components["schemas"]["FieldError"][];
            /**
             * Format: uuid
             * @description With `instance_taken`, the current incarnation.
             */
            incarnation?: string;
            /** @description With `region_elsewhere`, the region that another cell serves. */
            region?: string;
            /**
             * Format: uri
             * @description With `region_elsewhere`, the base URL of the API of that cell.
             */
            address?: string;
            /** @description With `no_capacity`, where a pool of the director serves the mode, how many of its game servers start now. */
            servers_starting?: number;
            /** @description With `not_admitted`, your place in the login queue; absent where another player of your party is not admitted. */
            login_queue?: components["schemas"]["LoginPlace"];
            /** @description With `ticket_exists` and `party_conflict`, the ticket with which you wait. With `session_closed` and `ticket_ended`, the one with which you wait since an evacuation. */
            ticket_id?: string;
            /** @description With `session_closed`, the handle of the session in which you have a seat since an evacuation. A secret. */
            session_handle?: string;
            /** @description With `assigned`, `matched` and `too_late`, the ticket. */
            ticket?: {
                [key: string]: unknown;
            };
        };
        /**
         * @example {
         *       "field": "capacity",
         *       "detail": "must be 1 to 100000"
         *     }
         */
        FieldError: {
            /** @description The field or header, such as `capacity`, `modes[2]`, `joined[0].sub` or `Idempotency-Key`. */
            field: string;
            /** @description The allowed values. */
            detail: string;
        };
    };
    responses: {
        /** @description The body is not JSON, or fields or headers are missing or outside their limits; `errors` has each of them. */
        InvalidRequest: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The access token is missing, invalid, expired or has another audience; `WWW-Authenticate` says which. */
        PlayerUnauthorized: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "WWW-Authenticate": components["headers"]["WWWAuthenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description `party_not_permitted`: nobody permits that you take these players into a party. */
        PartyNotPermitted: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description There is no such session, or its id or handle does not parse. Matchmake again. */
        SessionUnknown: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The session has ended or its instance's lease has expired; remembered for 24 hours. Matchmake again. */
        SessionClosed: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body did not arrive in time. Retry. */
        RequestTimeout: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body is over 64 KiB. Send less in one request. */
        BodyTooLarge: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The request's `Content-Type` is not `application/json`. */
        UnsupportedMediaType: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The login queue holds as many players as it may, or the player calls too often. Wait for `Retry-After`. */
        LoginQueueFull: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The player has no place in the login queue, or was away for too long. */
        NotInLoginQueue: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Too many calls by this player, or too many failed authentications from this address. Wait for `Retry-After`. */
        RateLimited: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Another cell, an installation of its own, serves the region that the request names. Ask `address` the same, once, and remember it for the region; see [other cells](#other-cells). */
        RegionElsewhere: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "Director-Cell": components["headers"]["DirectorCell"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description A defect of the director. The log has the cause with the `request_id`. */
        Internal: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The director did not decide, or its answer was lost, for instance while the database restarts. Retry after `Retry-After`; if the first attempt was applied, the retry returns its result. */
        Unavailable: {
            headers: {
                "X-Request-Id": components["headers"]["RequestId"];
                "Retry-After": components["headers"]["RetryAfter"];
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: {
        /**
         * @description A value of your choice, new for each request and the same for each of its retries, such as a UUID. Stored for each
         *     caller for 24 hours.
         * @example 9b2d7c1e-match-4
         */
        IdempotencyKey: string;
        /**
         * @description The build of the player's client, by which a valve of the [login queue](#login-queue) may be chosen; absent or empty, none is.
         * @example 1.4.2
         */
        ClientBuild: string;
        /**
         * @description The game region that the player enters, or the universe of its tickets; absent or empty, only valves of all regions count.
         * @example eu-west
         */
        LoginQueueRegion: string;
        /**
         * @description How long the call may wait for the admission, 60 seconds at most; absent, it answers at once.
         * @example 30s
         */
        LoginQueueWait: string;
    };
    requestBodies: never;
    headers: {
        /**
         * @description Identifies this request in the director's log; the same as `request_id` of a problem document.
         * @example 01JD6Z4C2W8H3E
         */
        RequestId: string;
        /**
         * @description The base URL of the API of the cell that serves the region; the same as `address` of the problem document.
         * @example https://us.director.example
         */
        DirectorCell: string;
        /**
         * @description Seconds to wait before the next attempt.
         * @example 1
         */
        RetryAfter: number;
        /**
         * @description The scheme to use, and the reason why the token was refused (RFC 6750).
         * @example Bearer error="invalid_token", error_description="the token has expired"
         */
        WWWAuthenticate: string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    matchmake: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A value of your choice, new for each request and the same for each of its retries, such as a UUID. Stored for each
                 *     caller for 24 hours.
                 * @example 9b2d7c1e-match-4
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description The build of the player's client, by which a valve of the [login queue](#login-queue) may be chosen; absent or empty, none is.
                 * @example 1.4.2
                 */
                "Client-Build"?: components["parameters"]["ClientBuild"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MatchmakeRequest"];
            };
        };
        responses: {
            /** @description The whole party has seats, new ones reserved for 60 seconds or the ones it had before. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Placement"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["PlayerUnauthorized"];
            403: components["responses"]["PartyNotPermitted"];
            408: components["responses"]["RequestTimeout"];
            /** @description No instance can host the session now (retry after a second or more), or none has offered that mode or region within the last day, or another member of the party has an unused seat in that region and mode that they requested or resolved themselves. */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    /**
                     * @description With `no_capacity`, where a pool starts game servers for the mode, seconds until it makes sense to ask again.
                     * @example 2
                     */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["RegionElsewhere"];
            /** @description The `Idempotency-Key` was used with another body in the last 24 hours. Use a new key for a new request. */
            422: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests, or too many reserved seats that are not connected, or the player waits in the [login queue](#login-queue). Wait for `Retry-After`. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "Retry-After": components["headers"]["RetryAfter"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    resolveSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResolveRequest"];
            };
        };
        responses: {
            /** @description Connect to `endpoint` and present `session_token`. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResolveResponse"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["PlayerUnauthorized"];
            /** @description The caller has no seat in this session. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            404: components["responses"]["SessionUnknown"];
            408: components["responses"]["RequestTimeout"];
            410: components["responses"]["SessionClosed"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["RegionElsewhere"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The `session_id` of a matchmake answer. An id that does not parse is unknown.
                 * @example eu-west.7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The session is open. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Placement"];
                };
            };
            401: components["responses"]["PlayerUnauthorized"];
            404: components["responses"]["SessionUnknown"];
            410: components["responses"]["SessionClosed"];
            421: components["responses"]["RegionElsewhere"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    listRegions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The regions. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Regions"];
                };
            };
            401: components["responses"]["PlayerUnauthorized"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    createTicket: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description A value of your choice, new for each request and the same for each of its retries, such as a UUID. Stored for each
                 *     caller for 24 hours.
                 * @example 9b2d7c1e-match-4
                 */
                "Idempotency-Key"?: components["parameters"]["IdempotencyKey"];
                /**
                 * @description The build of the player's client, by which a valve of the [login queue](#login-queue) may be chosen; absent or empty, none is.
                 * @example 1.4.2
                 */
                "Client-Build"?: components["parameters"]["ClientBuild"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TicketRequest"];
            };
        };
        responses: {
            /** @description You wait with this ticket already. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ticket"];
                };
            };
            /** @description The ticket is in the queue. */
            201: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ticket"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["PlayerUnauthorized"];
            /** @description The caller is not the owner of the room of the realtime lobby, or may not take these players into a party. */
            403: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such profile, or no such room of the realtime lobby. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description You, or another member of the party, wait with another ticket; or the members of the lobby cannot queue. */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["RegionElsewhere"];
            /** @description The party fits into no team of a profile, or the `Idempotency-Key` was used with another body. */
            422: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description Too many requests, or too many tickets, or the player waits in the [login queue](#login-queue). Wait for `Retry-After`. */
            429: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    "Retry-After": components["headers"]["RetryAfter"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getTicket: {
        parameters: {
            query?: {
                /**
                 * @description How long to wait for another state, such as `30s`; 60 seconds at most. Absent, the answer comes at once.
                 * @example 30s
                 */
                wait?: string;
                /**
                 * @description The version that the caller knows. Absent means the one that the ticket has when the call begins. 0 is answered at once.
                 * @example 3
                 */
                version?: number;
            };
            header?: never;
            path: {
                /**
                 * @description The `ticket_id` of the ticket.
                 * @example d4k0q2v8e5s0c1p6f3a0
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The ticket. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ticket"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["PlayerUnauthorized"];
            /** @description There is no such ticket, or you are not in its party. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The ticket left the queue some minutes ago. */
            410: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            421: components["responses"]["RegionElsewhere"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    cancelTicket: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The `ticket_id` of the ticket.
                 * @example d4k0q2v8e5s0c1p6f3a0
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The ticket has left the queue, or the match is declined; `state` says which. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ticket"];
                };
            };
            401: components["responses"]["PlayerUnauthorized"];
            /** @description There is no such ticket, or you are not in its party. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The ticket is in a match; `ticket` has its state. */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The ticket left the queue some minutes ago. */
            410: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            421: components["responses"]["RegionElsewhere"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    watchTicket: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The `id` of the last event that the client has, to get those after it.
                 * @example 3
                 */
                "Last-Event-ID"?: number;
            };
            path: {
                /**
                 * @description The `ticket_id` of the ticket.
                 * @example d4k0q2v8e5s0c1p6f3a0
                 */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["PlayerUnauthorized"];
            /** @description There is no such ticket, or you are not in its party. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The ticket left the queue some minutes ago. */
            410: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            421: components["responses"]["RegionElsewhere"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    acceptTicket: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The `ticket_id` of the ticket.
                 * @example d4k0q2v8e5s0c1p6f3a0
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description Without a body, of clients of older releases, the answer is for whichever match asks. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReadyAnswer"];
            };
        };
        responses: {
            /** @description The ticket, after the answer. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ticket"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["PlayerUnauthorized"];
            /** @description There is no such ticket, or you are not in its party. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description No answer is awaited, or not this one, or the ticket is in another match than `match_id`; `ticket` has the state. */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The ticket left the queue some minutes ago. */
            410: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["RegionElsewhere"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    declineTicket: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /**
                 * @description The `ticket_id` of the ticket.
                 * @example d4k0q2v8e5s0c1p6f3a0
                 */
                id: string;
            };
            cookie?: never;
        };
        /** @description Without a body, of clients of older releases, the answer is for whichever match asks. */
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReadyAnswer"];
            };
        };
        responses: {
            /** @description The ticket, after the answer. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Ticket"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["PlayerUnauthorized"];
            /** @description There is no such ticket, or you are not in its party. */
            404: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            408: components["responses"]["RequestTimeout"];
            /** @description No answer is awaited, or not this one, or the ticket is in another match than `match_id`; `ticket` has the state. */
            409: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The ticket left the queue some minutes ago. */
            410: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["RegionElsewhere"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    getLoginQueue: {
        parameters: {
            query?: {
                /**
                 * @description The game region that the player enters, or the universe of its tickets; absent or empty, only valves of all regions count.
                 * @example eu-west
                 */
                region?: components["parameters"]["LoginQueueRegion"];
                /**
                 * @description How long the call may wait for the admission, 60 seconds at most; absent, it answers at once.
                 * @example 30s
                 */
                wait?: components["parameters"]["LoginQueueWait"];
            };
            header?: {
                /**
                 * @description The build of the player's client, by which a valve of the [login queue](#login-queue) may be chosen; absent or empty, none is.
                 * @example 1.4.2
                 */
                "Client-Build"?: components["parameters"]["ClientBuild"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The player is admitted, or waits. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginQueuePlace"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["PlayerUnauthorized"];
            404: components["responses"]["NotInLoginQueue"];
            421: components["responses"]["RegionElsewhere"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    enterLoginQueue: {
        parameters: {
            query?: never;
            header?: {
                /**
                 * @description The build of the player's client, by which a valve of the [login queue](#login-queue) may be chosen; absent or empty, none is.
                 * @example 1.4.2
                 */
                "Client-Build"?: components["parameters"]["ClientBuild"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LoginQueueRequest"];
            };
        };
        responses: {
            /** @description The player is admitted, or waits. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginQueuePlace"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["PlayerUnauthorized"];
            408: components["responses"]["RequestTimeout"];
            413: components["responses"]["BodyTooLarge"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["RegionElsewhere"];
            429: components["responses"]["LoginQueueFull"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    leaveLoginQueue: {
        parameters: {
            query?: {
                /**
                 * @description The game region that the player enters, or the universe of its tickets; absent or empty, only valves of all regions count.
                 * @example eu-west
                 */
                region?: components["parameters"]["LoginQueueRegion"];
            };
            header?: {
                /**
                 * @description The build of the player's client, by which a valve of the [login queue](#login-queue) may be chosen; absent or empty, none is.
                 * @example 1.4.2
                 */
                "Client-Build"?: components["parameters"]["ClientBuild"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The player has no place any more. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginQueueLeft"];
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["PlayerUnauthorized"];
            421: components["responses"]["RegionElsewhere"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
    watchLoginQueue: {
        parameters: {
            query?: {
                /**
                 * @description The game region that the player enters, or the universe of its tickets; absent or empty, only valves of all regions count.
                 * @example eu-west
                 */
                region?: components["parameters"]["LoginQueueRegion"];
            };
            header?: {
                /**
                 * @description The build of the player's client, by which a valve of the [login queue](#login-queue) may be chosen; absent or empty, none is.
                 * @example 1.4.2
                 */
                "Client-Build"?: components["parameters"]["ClientBuild"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events. */
            200: {
                headers: {
                    "X-Request-Id": components["headers"]["RequestId"];
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["InvalidRequest"];
            401: components["responses"]["PlayerUnauthorized"];
            404: components["responses"]["NotInLoginQueue"];
            421: components["responses"]["RegionElsewhere"];
            429: components["responses"]["RateLimited"];
            500: components["responses"]["Internal"];
            503: components["responses"]["Unavailable"];
        };
    };
}
