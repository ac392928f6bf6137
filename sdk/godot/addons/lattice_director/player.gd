# Makes the calls of one player. Add it to the tree, and set `urls` and a token.
#
#   Godot 4: var answer = await $Player.seat({"region": "eu", "mode": "duel"}).done
#   Godot 3: var answer = yield($Player.seat({"region": "eu", "mode": "duel"}), "done")
#
# answer.error is null, or says why there is no answer.value: branch on answer.error.code. Without `cancel` of the call it retries until
# the director decides. The end of the node ends all calls without a signal.
class_name LatticePlayer
extends "res://addons/lattice_director/client.gd"

const Ticket = preload("res://addons/lattice_director/ticket.gd")
const Seat = preload("res://addons/lattice_director/seat.gd")
const CheckedCall = preload("res://addons/lattice_director/checked_call.gd")


# The base URLs of the director's replicas, such as "https://director.example". A path is kept as a prefix.
func set_urls(urls):
	replicas = Replicas.new(engine, urls, "http")


# Takes seats and returns their session: session_handle, session_id, endpoint, player_count, max_players. The request has region and
# mode, and may have party and max_players. A repeated call before the player connects returns the same seats; a player who lost the
# connection gets the running session back. Errors: no_capacity, mode_unknown, region_unknown, party_conflict, invalid_request,
# unauthorized.
func matchmake(request):
	return run(new_matchmake(request))


# Exchanges a session handle for what the caller needs to connect: endpoint and session_token, a secret. Each member of a party calls it
# with the handle that matchmake returned to one of them. Errors: no_seat, session_unknown, session_closed.
func resolve(handle):
	return run(new_resolve(handle))


# Returns a session's current state. Errors: session_unknown, session_closed.
func session(id):
	return run(CheckedCall.new().start(self, new_call("GET", "/sessions/" + engine.uri_encode(id)), ["session_id"], ""))


# Calls matchmake and then resolve. It starts again when the session closes or the seat expires between the two, and waits while there
# is no capacity; with awaits_servers also for the first game server of a mode. Only `cancel` ends that.
func seat(request, awaits_servers = false):
	return run(Seat.new(self, request, awaits_servers))


# Puts the caller, or a party, into the queue; give the answer's value to `ticket_of`. The request may have profiles, party, attributes,
# players, latencies and lobby. The same request again, by any member of the party, returns the same ticket. Errors: profile_unknown,
# ticket_exists, party_conflict, party_too_large, cannot_match, invalid_request, unauthorized.
func queue(request):
	var call = new_call("POST", "/tickets", request)
	call.request.headers = ["Idempotency-Key: " + new_key()]
	call.request.creates_ticket = true
	return run(CheckedCall.new().start(self, call, ["ticket_id", "state", "version"], ""))


# Returns the ticket that `queue` answered.
func ticket_of(status):
	return Ticket.new(self, status.ticket_id, status)


# Returns the ticket with an id, for a member of the party that did not create it, or a game that was started again. A ticket of another
# cell is known to the player that created it; elsewhere, `queue` returns it for the same request.
func ticket(id):
	return Ticket.new(self, id, null)


func new_matchmake(request):
	var call = new_call("POST", "/matchmake", request)
	call.request.headers = ["Idempotency-Key: " + new_key()] # all attempts have the same
	call.request.region = str(request.get("region", ""))
	return CheckedCall.new().start(self, call, ["session_handle", "session_id"], "")


# The region is that of the session; empty: not known.
func new_resolve(handle, region = ""):
	var call = new_call("POST", "/resolve", {"session_handle": handle})
	call.request.region = region
	return CheckedCall.new().start(self, call, ["endpoint", "session_token"], "")


func new_ticket_call(method, path, body, id, wait_ms = 0):
	var call = new_call(method, path, body)
	call.request.wait_ms = wait_ms
	call.request.ticket = id
	return CheckedCall.new().start(self, call, ["ticket_id", "state", "version"], id)
