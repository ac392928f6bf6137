# Follows a ticket until a final state, over broken streams of events; where streams bring nothing it polls.
extends "res://addons/lattice_director/task.gd"

const NextState = preload("res://addons/lattice_director/next_state.gd")
const MAX_EMPTY = 3 # after so many streams in a row that brought no event the client polls
const STEADY_MS = 10000 # after such a life of a stream the next failure counts as the first

var _ticket
var _pacer
var _inner
var _last = null
var _until = 0
var _opened = 0
var _empty = 0
var _seen = 0
var _seen_before = 0


func _init(for_client, ticket):
	client = for_client
	_ticket = ticket
	_pacer = client.new_pacer()


func release():
	if _inner != null:
		_inner.drop()
	_inner = null


func poll():
	if _last == null and _ticket.status != null and _ticket.is_final(_ticket.status):
		_show(_ticket.status)
	elif _inner == null and client.now_ms() >= _until:
		if _empty < MAX_EMPTY:
			_open_stream()
		else:
			_inner = client.run_for(self, "take_poll", client.new_ticket_call("GET", _ticket.path(), null, _ticket.id))


func _open_stream():
	_opened = client.now_ms()
	_seen_before = _seen
	_inner = client.new_call("GET", _ticket.path() + "/events")
	_inner.is_stream = true
	_inner.request.ticket = _ticket.id
	if _ticket.status != null:
		_inner.request.headers = ["Last-Event-ID: %d" % int(_ticket.status.version)]
	client.run_for(self, "take_end", _inner)


# Takes an event of the stream. Returns whether it is readable.
func take_event(event):
	var status = client.parse_object(event.data)
	if status == null or not _ticket.is_ticket(status):
		return false # another replica, or a poll, may be readable
	_show(status)
	return true


func take_end(answer):
	_inner = null
	var brought_news = _seen > _seen_before
	if not _pacer.repeats(answer.error):
		_end(answer.error)
		return
	_empty = 0 if brought_news else _empty + 1
	if brought_news and client.now_ms() - _opened >= STEADY_MS:
		_pacer.reset()
	_until = client.now_ms() + client.note_retry(answer.error, _pacer)


func take_poll(answer):
	_inner = null
	if answer.error != null:
		_end(answer.error)
		return
	_show(answer.value)
	if not is_over:
		_inner = client.run_for(self, "take_poll", NextState.new(client, _ticket))


# Shows a state, unless the program knows it: a new stream begins with the current one.
func _show(status):
	_seen += 1
	var is_old = _last != null and (status.version < _last.version or (status.version == _last.version and status.state == _last.state
			and client.engine.to_json_text(status.get("step")) == client.engine.to_json_text(_last.get("step"))))
	if not is_old:
		_last = status
		_ticket.status = status
		_ticket.emit_signal("changed", status)
	if not is_over and _ticket.is_final(status):
		_end(null)


func _end(error):
	var ticket = _ticket
	drop()
	ticket.emit_signal("ended", error)


func cancel():
	if not is_over:
		_end(client.new_error("cancelled", "", "cancelled by the program"))
