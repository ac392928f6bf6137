# Joins a room and waits for its state.
extends "res://addons/lattice_director/task.gd"

var _options
var _type
var _inner
var _room = null


func _init(lobby, request, p, id, options):
	client = lobby
	_options = options
	_type = p.get("room_type", "")
	p.options = options
	_inner = client.run_for(self, "take", client.new_request(request, p, id, true))


func release():
	if _inner != null:
		_inner.drop()
	_inner = null


func poll():
	if _room != null and _room.seq > 0:
		succeed(_room)


func take(answer):
	_inner = null
	if answer.error != null:
		fail(answer.error)
		return
	_room = client.room(answer.value.room)
	_room.type = _type if _type != "" else answer.value.get("room_type", "")
	_room.join_options = _options
