# A session of the realtime lobby, over any number of connections: when one ends, the client connects to the next replica and resumes its
# session, so that the player stays in its rooms and in the queue. After a longer absence it gets a new session, and joins its rooms again.
# Add it to the tree, set `urls` and a token, and wait for `open`. What may be carried out twice is repeated after a lost connection; what
# may not (say, send, queue, start) fails with an error of the kind uncertain: look at the state of the room.
class_name LatticeLobby
extends "res://addons/lattice_director/client.gd"

signal connected(url, is_resumed)
signal disconnected(code) # the client connects again
signal ended(error) # the client has ended
signal invited(event) # room, room_type, from_player: join the room, or leave it to decline
signal match_found(event) # room, room_type: join it with join_match
signal match_pending(event) # match_id, seconds: accept it or decline it
signal queue_expired(event) # reason: the session waits for no match any more
signal frame_received(frame) # any other, such as one of a newer director: t, room, p

const Task = preload("res://addons/lattice_director/task.gd")
const Request = preload("res://addons/lattice_director/lobby_request.gd")
const Joining = preload("res://addons/lattice_director/joining.gd")
const Leaving = preload("res://addons/lattice_director/leaving.gd")
const Room = preload("res://addons/lattice_director/room.gd")

const STEADY_MS = 10000 # the life of a connection after which the next failure counts as the first
const SILENCE_MS = 25000 # after which a connection is probed
const PROBE_MS = 10000
const MAX_TAKEOVERS = 3 # a replica that was frozen closes connections with the same code
const SUPERSEDED = 4409
const REFUSALS = {4400: "bad_frame", 4401: "token_refused", 4403: "key_refused"} # Godot 3 drops a frame whose connection closes behind it
const MAX_FRAME = 1 << 20
const FRAMES_A_FRAME = 64

enum { IDLE, WAITING_FOR_TOKEN, SHAKING_HANDS, ATTACHED, PAUSING, OVER }

var session = "" # the id; another client resumes the session with it
var url = "" # of the replica to which the client is connected; empty while it is not
var project = "" # of a client without a token, where the director allows that
var end_error = null # why the client has ended

var _state = IDLE
var _until = 0
var _left = 0 # replicas to try before the next pause
var _is_refreshed = false
var _has_said_hello = false
var _is_probed = false
var _token_text = ""
var _attached_at = 0
var _takeovers = 0
var _socket
var _base
var _dial_pacer
var _opening
var _rooms = {}
var _pending = {} # requests by their rid
var _last_rid = 0


func _init():
	max_backoff_ms = 3000


# The WebSocket URLs of the replicas, such as "wss://lobby.example:4000".
func set_urls(urls):
	replicas = Replicas.new(engine, urls, "ws")


# Opens a session, or resumes `session`. It tries all replicas until it is cancelled. The value is the session's id. Errors: token_refused,
# invalid.
func open():
	_opening = run(Task.new())
	_opening.client = self
	_dial_pacer = new_pacer()
	_state = PAUSING
	return _opening


# Ends the connection. The session ends when its time to live is over: leave rooms that the player shall be out of at once.
func close():
	_end(new_error("ended", "", "the client was closed"))


# Connects to the next replica, such as when the network has changed: a silent connection is noticed half a minute later.
func reconnect():
	if _state == ATTACHED:
		_connection_ended(1000)


# Returns a room by its id, to listen to it or to leave it.
func room(id):
	if not _rooms.has(id):
		_rooms[id] = Room.new(self, id)
	return _rooms[id]


# Joins a room, or makes it, and waits for its state; the value is the room. The options may have name, private, max_members, metadata,
# data and settings. Errors: room_full, room_locked, not_invited, room_not_found, unsupported_room_type, invalid.
func join(type, id = "", options = {}):
	return run(Joining.new(self, "room.join_or_create", {"room_type": type}, id, options))


# Makes a party, which only invited players join.
func create_party(options = {}):
	return join("party", "party:" + new_key().substr(0, 12), options) # others cannot join a private room by guessing its id


# Makes a lobby.
func create_lobby(options = {}):
	return join("lobby", "lobby:" + new_key().substr(0, 12), options)


# Joins the room of a match, where its game server is found: room.resolve.
func join_match(event, options = {}):
	return join(event.room_type, event.room, options)


# Joins the room that has a code, such as "KX7-4ZM". Errors: code_unknown, room_full, banned.
func join_by_code(code, options = {}):
	return run(Joining.new(self, "room.join", {"code": code}, "", options))


# Accepts a pending match. Errors: too_late.
func accept(match_id):
	return request("match.accept", {"match_id": match_id}, "", true)


# Declines it; the party leaves the queue.
func decline(match_id):
	return request("match.decline", {"match_id": match_id}, "", true)


# Leaves a room, or declines an invitation to it.
func leave(id):
	return run(Leaving.new(self, id))


# Makes a request that has no method here, such as "room.list", and returns its answer. It waits for a connection.
func request(type, p = {}, room_id = "", may_repeat = false):
	return run(new_request(type, p, room_id, may_repeat))


func new_request(type, p, room_id, may_repeat):
	return Request.new(self, type, p, room_id, may_repeat)


func is_attached():
	return _state == ATTACHED


func send_request(task, type, p, room_id):
	_last_rid += 1
	var rid = str(_last_rid)
	_pending[rid] = task
	var frame = {"v": 1, "t": type, "rid": rid, "p": p}
	if room_id != "":
		frame.room = room_id
	_send(frame)
	return rid


func forget_request(rid):
	_pending.erase(rid)


func lobby_refusal(call_name, p):
	var error = new_error("refused", call_name, text_of(p, "error", text_of(p, "reason")))
	error.code = text_of(p, "code")
	error.hint = text_of(p, "hint")
	error.message = "%s: %s (%s) %s" % [call_name, error.detail, error.code, error.hint]
	if typeof(p.get("retry_after_ms")) == typeof(1.0):
		error.retry_after = max(0, p.retry_after_ms) / 1000.0
	return error


func leave_tree():
	if _socket != null:
		_socket.close()


func work():
	match _state:
		SHAKING_HANDS:
			_shake_hands()
		ATTACHED:
			_receive()
		PAUSING:
			if now_ms() >= _until:
				_dial_all()


func _dial_all():
	if replicas.error != "":
		_end(new_error("invalid", "handshake", replicas.error))
		return
	_is_refreshed = false
	_dial_next(replicas.count())


func _dial_next(left):
	_left = left
	if _left <= 0: # with jitter, since others have lost the same replica
		_state = PAUSING
		_until = now_ms() + _dial_pacer.next()
		return
	_state = WAITING_FOR_TOKEN
	pass_token(_is_refreshed, self)


# Is called with the token, by the login.
func use_token(token):
	_refreshing = []
	if _state != WAITING_FOR_TOKEN:
		return
	_token_text = token
	_base = replicas.pick()
	_socket = engine.new_socket()
	_socket.open(_base.url)
	_has_said_hello = false
	_state = SHAKING_HANDS
	_until = now_ms() + attempt_timeout_ms


func _dial_failed():
	replicas.note_failure(_base)
	_hang_up()
	_dial_next(_left - 1)


func _hang_up():
	if _socket != null:
		_socket.close()
	_socket = null
	url = ""


func _shake_hands():
	_socket.poll()
	if _socket.is_open() and not _has_said_hello:
		_has_said_hello = true
		_send(_hello())
	var text = _socket.receive() if _has_said_hello else null
	if text != null:
		_take_handshake(parse_object(text))
	elif _socket.is_closed() and REFUSALS.has(_socket.close_code):
		_refused(lobby_refusal("handshake", {"code": REFUSALS[_socket.close_code], "reason": "refused when the connection was closed"}))
	elif _socket.is_closed() or now_ms() >= _until:
		_dial_failed()


func _hello():
	var hello = {"v": 1, "codecs": ["json"], "token": _token_text}
	if session != "":
		hello.session_id = session
	if project != "":
		hello.project_id = project
	return hello


func _take_handshake(frame):
	var p = _dictionary(frame.get("p")) if frame != null else {}
	if frame != null and frame.get("t") == "error":
		_refused(lobby_refusal("handshake", p))
	elif frame != null and frame.get("t") == "handshake.ok" and typeof(p.get("session_id")) == TYPE_STRING:
		_attach(p.session_id, p.get("resumed", false))
	else:
		_dial_failed()


func _refused(error):
	var is_of_token = error.code in ["token_refused", "key_refused"]
	var is_final = error.code in ["bad_frame", "unsupported_version", "unsupported_codec"]
	if is_final or (is_of_token and (_is_refreshed or not can_refresh())):
		_end(error)
	elif not is_of_token:
		_dial_failed()
	else:
		_is_refreshed = true
		_hang_up()
		_dial_next(max(_left - 1, 1))


func _attach(session_id, is_resumed):
	session = session_id
	url = _base.url
	_state = ATTACHED
	_attached_at = now_ms()
	_heard_something()
	if not is_resumed:
		for known in _rooms.values():
			_rejoin(known)
	var opening = _opening
	_opening = null
	if opening != null:
		opening.succeed(session)
	if _state == ATTACHED:
		emit_signal("connected", url, is_resumed)


# Joins a room again in which the client was with a session that has ended.
func _rejoin(known):
	var options = known.join_options
	if options == null:
		return
	known.forget()
	run_for(Rejoined.new(known), "take", Joining.new(self, "room.join_or_create", {"room_type": known.type}, known.id, options))


func _heard_something():
	_is_probed = false
	_until = now_ms() + SILENCE_MS


func _receive():
	_socket.poll()
	for _i in range(FRAMES_A_FRAME):
		var text = _socket.receive()
		if text == null:
			break
		_heard_something()
		var frame = parse_object(text) if text.length() <= MAX_FRAME else null
		if frame != null:
			_take(frame)
		if _state != ATTACHED:
			return
	if _socket.is_closed():
		_connection_ended(_socket.close_code)
	elif now_ms() >= _until:
		_probe()


# No pings are seen, so a dead connection is found by a question.
func _probe():
	if _is_probed:
		_connection_ended(1006)
		return
	_is_probed = true
	_until = now_ms() + PROBE_MS
	_send({"v": 1, "t": "echo", "rid": "probe", "p": {}})


func _connection_ended(code):
	replicas.note_failure(_base)
	_hang_up()
	var is_steady = now_ms() - _attached_at >= STEADY_MS
	if is_steady:
		_dial_pacer.reset()
	_takeovers = 0 if is_steady or code != SUPERSEDED else _takeovers + 1
	_state = PAUSING
	_until = now_ms() + _dial_pacer.next()
	var lost = _pending.values()
	_pending = {}
	for task in lost:
		task.lose()
	emit_signal("disconnected", code)
	if _takeovers >= MAX_TAKEOVERS:
		_end(new_error("ended", "", "another client took the session over: give each client a session of its own"))


func _end(error):
	if _state == OVER:
		return
	_state = OVER
	end_error = error
	_hang_up()
	for task in _pending.values():
		task.fail(error)
	var opening = _opening
	_opening = null
	if opening != null:
		opening.fail(error)
	else:
		emit_signal("ended", error)


func _send(frame):
	_socket.send(engine.to_json_text(frame))


func _dictionary(value):
	return value if typeof(value) == TYPE_DICTIONARY else {}


func _take(frame):
	var p = _dictionary(frame.get("p"))
	match frame.get("t"):
		"rpc.response":
			var task = _pending.get(frame.get("rid"))
			_pending.erase(frame.get("rid"))
			if task != null:
				task.take_answer(p)
		"room.invited":
			emit_signal("invited", p)
		"match.found":
			emit_signal("match_found", p)
		"match.pending":
			emit_signal("match_pending", p)
		"matchmaking.expired":
			emit_signal("queue_expired", p)
		_:
			if typeof(frame.get("room")) == TYPE_STRING:
				_take_of_room(room(frame.room), str(frame.get("t")), p)
			emit_signal("frame_received", frame)


func _take_of_room(known, type, p):
	match type:
		"state.snapshot", "state.patch":
			var answer = known.take_state(type, p)
			if answer != null and _state == ATTACHED:
				_send({"v": 1, "t": answer, "room": known.id, "p": {"seq": known.seq} if answer == "state.ack" else {}})
		"room.message":
			known.take_message(p)
		"room.members":
			known.sessions = p.get("members", [])
		"room.joined", "room.left", "room.dropped", "room.reconnected":
			if type == "room.left" and p.get("client_id") == session:
				known.forget()
			known.emit_signal("presence_changed", type.substr(5, type.length()), p)


# Tells a room why the client could not join it again.
class Rejoined:
	var _room

	func _init(known):
		_room = known

	func take(answer):
		if answer.error != null:
			_room.emit_signal("presence_changed", "left", {"reason": answer.error.code})
