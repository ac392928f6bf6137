# A request to the lobby and its answer. It waits for a connection.
extends "res://addons/lattice_director/task.gd"

const REPEAT_MS = 250
const MAX_ASKED_MS = 60000

var _type
var _p
var _room
var _may_repeat
var _rid = ""
var _until = 0


func _init(lobby, type, p, room, may_repeat):
	client = lobby
	_type = type
	_p = p
	_room = room
	_may_repeat = may_repeat


func call_name():
	return "%s %s" % [_type, _p.type] if _p.has("type") else _type


func poll():
	if client.end_error != null:
		fail(client.end_error)
	elif _rid == "" and client.is_attached() and client.now_ms() >= _until:
		_rid = client.send_request(self, _type, _p, _room)


func release():
	client.forget_request(_rid)


func take_answer(answer):
	_rid = ""
	if answer.get("ok", false):
		succeed(answer)
	else:
		_failed(client.lobby_refusal(call_name(), answer))


# The connection ended before the answer.
func lose():
	_rid = ""
	_failed(client.new_error("uncertain", call_name(), "the connection ended before the answer: look at the state of the room"))


func _failed(error):
	var is_temporary = error.kind == "uncertain" or error.code in ["unavailable", "rate_limited"]
	if not _may_repeat or not is_temporary:
		fail(error)
		return
	var asked = 0 if error.retry_after == null else error.retry_after * 1000
	_until = client.now_ms() + REPEAT_MS + min(asked, MAX_ASKED_MS)
