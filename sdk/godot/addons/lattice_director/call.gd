# Repeats a call of the API until it has an answer that is not worth a retry. With is_stream it asks once, and tells its listener about
# the events.
extends "res://addons/lattice_director/task.gd"

const Exchange = preload("res://addons/lattice_director/exchange.gd")
const Events = preload("res://addons/lattice_director/events.gd")
const MAX_SILENCE_MS = 45000 # the director sends a comment every 15 s, a sidecar every 10 s

enum { WAITING_FOR_TOKEN, ASKING, PAUSING }
enum { REMEMBERED, CONFIGURED, FOLLOWED } # who is asked: the cell that the client remembers, the replicas, the cell that one of them named

var request # method, path, headers, body; wait_ms: how long the director may take besides the timeout of an attempt; may_be_empty; is_once;
# region or ticket: what it names, which says which cell to ask; creates_ticket
var is_stream = false
var max_event = 64 << 10
var is_refreshed = false # the token was replaced: once is enough

var _state = PAUSING
var _until = 0 # when a pause, or the time of an attempt, is over
var _pacer
var _exchange
var _events
var _base
var _step = CONFIGURED
var _cell # the address of the cell that is asked; null: the replicas
var _left = 0
var _token = ""


func _init(for_client, what):
	client = for_client
	request = what
	_pacer = client.new_pacer()


func call_name():
	return request.method + " " + request.path.split("?")[0]


func release():
	if _exchange != null:
		_exchange.close()
	_exchange = null


func poll():
	match _state:
		PAUSING:
			if client.now_ms() >= _until:
				_begin(false)
		ASKING:
			_poll_exchange()


func _begin(refresh):
	if client.replicas.error != "":
		fail(client.new_error("invalid", call_name(), client.replicas.error))
		return
	if not client.needs_token:
		_try_replicas()
		return
	_state = WAITING_FOR_TOKEN
	client.pass_token(refresh, self)


# Is called with the access token, by the client.
func use_token(token):
	if is_over or _state != WAITING_FOR_TOKEN:
		return
	for code in client.engine.to_utf8(token):
		if code <= 32 or code >= 127: # no header can carry it
			token = ""
	if token == "":
		fail(client.new_error("invalid", call_name(), "token: want the access token as a text without spaces"))
		return
	_token = token
	_try_replicas()


# Asks the cell that has what the call names, where the client knows it, else the replicas. One answer of these that another cell has it
# is followed.
func _try_replicas():
	_cell = client.cells.address_for(request)
	if _cell == null:
		_ask_replicas()
		return
	_step = REMEMBERED
	_attempt()


func _ask_replicas():
	_step = CONFIGURED
	_cell = null
	_left = client.replicas.count()
	_attempt()


func _attempt():
	_state = ASKING
	_until = client.now_ms() + client.attempt_timeout_ms + request.get("wait_ms", 0)
	_base = client.replicas.pick() if _cell == null else _cell
	_events = Events.new(client.engine, max_event)
	var headers = request.get("headers", []).duplicate()
	headers.append("Accept: %s, application/problem+json" % ("text/event-stream" if is_stream else "application/json"))
	if client.needs_token:
		headers.append("Authorization: Bearer " + _token)
	var body = request.get("body", "")
	if body != "":
		headers.append("Content-Type: application/json")
	client.note_request(_base, request)
	_exchange = Exchange.new(client.engine, _base, {"method": request.method, "path": _base.prefix + request.path, "headers": headers, "body": body}, is_stream)


func _poll_exchange():
	_exchange.poll()
	if _exchange.is_stream:
		_take_events()
	if is_over or _state != ASKING:
		return
	match _exchange.state:
		Exchange.ANSWERED:
			_judge()
		Exchange.STREAM_ENDED:
			_end_stream("the stream of events has ended")
		Exchange.UNREACHABLE:
			_attempt_failed(client.new_error("unreachable", call_name(), _exchange.detail))
		_:
			if client.now_ms() >= _until:
				_attempt_failed(client.new_error("unreachable", call_name(), "the director did not answer in time"))


func _take_events():
	var piece = _exchange.take_piece()
	if piece.size() == 0:
		return
	_until = client.now_ms() + MAX_SILENCE_MS
	for event in _events.push(piece):
		if not listener.take_event(event):
			_end_stream("the stream of events is unreadable")
		if is_over:
			return
	if _events.is_too_long:
		_end_stream("an event is too long")


func _end_stream(why):
	fail(client.new_error("unreachable", call_name(), why))


func _judge():
	var document = client.parse_object(_exchange.text)
	if _exchange.status < 200 or _exchange.status > 299:
		_attempt_failed(client.refusal_of(call_name(), _exchange.status, _exchange.headers, document))
	elif is_stream:
		_attempt_failed(client.new_error("unreachable", call_name(), "the answer is no stream of events"))
	elif document != null or (request.get("may_be_empty", false) and _exchange.text == ""):
		if _cell != null and request.get("creates_ticket", false):
			client.cells.remember_ticket(client.text_of(document, "ticket_id"), _cell)
		succeed(document)
	else: # the text is not quoted: it may contain a session token
		fail(client.new_error("unreadable", call_name(), "the answer is not a JSON object"))


func _attempt_failed(error):
	release()
	if _may_ask_elsewhere(error):
		return
	if error.status == 401 and not is_refreshed and client.can_refresh():
		is_refreshed = true
		_begin(true)
		return
	var is_unknown = error.kind == "unreachable" and request.get("is_once", false)
	if is_stream or is_unknown or not _pacer.repeats(error):
		fail(error)
		return
	_state = PAUSING
	_until = client.now_ms() + client.note_retry(error, _pacer)


# Asks somebody else after an error, where that may help: the next replica, or another cell.
func _may_ask_elsewhere(error):
	var is_of_replica = error.kind == "unreachable" or error.code == "draining"
	match _step:
		REMEMBERED: # a region is asked for again; a ticket stays where it is
			if request.get("ticket", "") != "" or not (is_of_replica or client.cells.is_elsewhere(error)):
				return false
			client.cells.forget_region(request)
			_ask_replicas()
			return true
		CONFIGURED:
			return _try_next(error, is_of_replica)
	return false


func _try_next(error, is_of_replica):
	if is_of_replica:
		client.replicas.note_failure(_base)
		_left -= 1
		if _left == 0 or request.get("is_once", false):
			return false
	else:
		_cell = client.cells.follow(_base, error, client.replicas)
		if _cell == null:
			return false
		_step = FOLLOWED
	_attempt()
	return true
