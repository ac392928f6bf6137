# A ticket in the queue. It stays there while one of its players watches it or asks for it; 30 seconds later it expires. At most one
# `next` or `watch` may run at a time; the other methods may run beside it.

# The ticket has another state. status is the director's answer: ticket_id, state, version, place, match_id, session_handle, reason and
# more. Treat a state that you do not know as queued: a newer director may send it.
signal changed(status)
# The watch is over: error is null after a final state.
signal ended(error)

const Watch = preload("res://addons/lattice_director/watch.gd")
const NextState = preload("res://addons/lattice_director/next_state.gd")
const FINAL = ["assigned", "declined", "cancelled", "expired"]

var id = "" # which the members of a party send each other
var status = null # the last state that is known; null before the first

var _client
var _watch


func _init(client, ticket_id, known_status):
	_client = client
	id = ticket_id
	status = known_status


# Whether a state is one in which the ticket has left the queue.
func is_final(some_status):
	return some_status.state in FINAL


# Tells all states by `changed`, the current one first, until a final one, and then `ended`. Where a stream of events breaks, it connects
# again without a loss, also to another replica; where streams bring nothing, it polls.
func watch():
	stop()
	_watch = _client.run(Watch.new(_client, self))


# Ends the watch, without a signal. To leave the queue at once, call `cancel` as well.
func stop():
	if _watch != null:
		_watch.drop()
	_watch = null


# Waits until the ticket enters another state than `status`. Errors: ticket_unknown, ticket_ended some minutes after it left.
func next():
	return _client.run(NextState.new(_client, self))


# Reads the ticket now, such as for its place, which changes without a new state.
func read():
	return _client.run(_client.new_ticket_call("GET", path(), null, id))


# Takes the ticket out of the queue for the whole party: it is then in no match. Errors: assigned, matched, too_late.
func cancel():
	return _client.run(_client.new_ticket_call("DELETE", path(), null, id))


# Accepts the match of the status in which the player was asked. Errors: too_late, also for another match.
func accept(match_id):
	return _client.run(_client.new_ticket_call("POST", path() + "/accept", {"match_id": match_id}, id))


# Declines it; the caller's party leaves the queue. Errors: too_late.
func decline(match_id):
	return _client.run(_client.new_ticket_call("POST", path() + "/decline", {"match_id": match_id}, id))


func path():
	return "/tickets/" + _client.engine.uri_encode(id)


func is_ticket(document):
	var text_fields = typeof(document) == TYPE_DICTIONARY and typeof(document.get("ticket_id")) == TYPE_STRING and typeof(document.get("state")) == TYPE_STRING
	return text_fields and typeof(document.get("version")) == typeof(1.0) and (id == "" or document.ticket_id == id)
